// A loaded sampler's maps for the unwinder, as its BPF programs see them: they are read back
// through the kernel, not through the memory that user space writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/wire/unwind_wire.h"
#include "labelscope/ids.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope::test {

// Loads and attaches the unwinder's programs, and samples nothing. Skips the test without the right
// to load them.
std::unique_ptr<BpfObject> load_unwinder();

std::optional<ls_unwind_process> list_of(const BpfObject& object, Pid pid);
// Returns the mappings of the list, without those that have become another list's.
std::vector<ls_unwind_mapping> mappings_of(const BpfObject& object, const ls_unwind_process& list);
// Returns the number of mappings that belong to any list.
std::size_t mappings_in_use(const BpfObject& object);
ls_unwind_module module_of(const BpfObject& object, std::uint32_t number);
// Returns the rows of one of the module's pages.
std::vector<std::uint32_t> rows_of(const BpfObject& object, const ls_unwind_module& module,
                                   std::uint32_t page);

// Makes a table of this number of pages and rows per page. Rows of tables with different marks
// differ.
UnwindTable made_up_table(std::uint32_t pages, std::uint32_t rows, std::uint16_t mark);

}  // namespace labelscope::test
