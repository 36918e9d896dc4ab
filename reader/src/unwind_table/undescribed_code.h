// Code that no call frame information describes: what its bytes tell an unwinder all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"
#include "elf/loaded_file.h"
#include "unwind_table/unwind_rules.h"

namespace labelscope {

// A part of a gap, up to the next part.
struct CodePart {
  std::uint64_t start = 0;
  ls_unwind_rule rule{};
};

// Of [start, end), which lies in one segment. The first part starts at `start`, or one byte before
// where that is a return from a signal handler. Empty: nothing but padding between functions.
// `entry`: the file's entry point.
std::vector<CodePart> look_at_undescribed_code(const LoadedFile& file, Machine machine,
                                               std::uint64_t start, std::uint64_t end,
                                               std::uint64_t entry);

}  // namespace labelscope
