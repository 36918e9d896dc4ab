// A loaded sampler's maps for the unwinder, as its BPF programs see them: read back through the
// kernel, not through the memory that user space writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/wire/unwind_wire.h"
#include "labelscope/ids.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope::test {

// Its programs are attached, but nothing is sampled. Skips the test without the right to load them.
std::unique_ptr<BpfObject> load_unwinder();

std::optional<ls_unwind_process> list_of(const BpfObject& object, Pid pid);
// Those of the list, without what has become another's.
std::vector<ls_unwind_mapping> mappings_of(const BpfObject& object, const ls_unwind_process& list);
// Mappings that belong to any list.
std::size_t mappings_in_use(const BpfObject& object);
ls_unwind_module module_of(const BpfObject& object, std::uint32_t number);
// The rows of one of its pages.
std::vector<std::uint32_t> rows_of(const BpfObject& object, const ls_unwind_module& module,
                                   std::uint32_t page);

// A table of so many pages, each with so many rows. Rows of two tables with different marks differ.
UnwindTable made_up_table(std::uint32_t pages, std::uint32_t rows, std::uint16_t mark);

}  // namespace labelscope::test
