// This recognizes entries of a procedure linkage table (PLT) by their bytes, if no call frame
// information describes them: lld and mold write none for it, and on aarch64 no linker does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "labelscope/elf_types.h"
#include "unwind_table/unwind_rules.h"

namespace labelscope {

struct PltEntry {
  std::size_t size = 0;  // in bytes; 0 if there is no entry
  ls_unwind_rule rule{};
};

// Finds the entry that `code`, at that address of its file, begins with.
PltEntry find_plt_entry(std::string_view code, std::uint64_t address, Machine machine);

}  // namespace labelscope
