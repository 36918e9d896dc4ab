// The content of lines that others refer to by ID, and of the ledger. Fields that are odd spoil the
// line; what it would take in memory is counted.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/format/common/read_budget.h"
#include "cli/format/jsonl/jsonl_fields.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

Process read_process(Fields& fields, ReadBudget& budget);
ProfileModule read_module(Fields& fields);
// `modules`: how many there are.
Location read_location(Fields& fields, std::size_t modules, ReadBudget& budget);
Stack read_stack(Fields& fields, const std::vector<Location>& locations, ReadBudget& budget);
LabelSet read_label_set(Fields& fields, ReadBudget& budget);
Ledger read_ledger(Fields& fields);

}  // namespace labelscope::cli
