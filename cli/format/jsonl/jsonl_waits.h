// The lines of a recording that have totals of waits, and who made whom wait
// (docs/schema/recording-format.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/format/common/json_values.h"
#include "cli/format/common/read_budget.h"
#include "cli/format/jsonl/jsonl_fields.h"
#include "cli/format/jsonl/jsonl_processes.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

Json waits_json(const Profile& profile, const WaitRow& row);
Json blame_json(const Profile& profile, const BlameRow& row);

// Each adds the row of a line. `outcomes` are our outcomes by the recording's numbers. They return
// what is wrong with the line; empty: nothing.
std::string_view take_waits(Fields& fields, Profile& profile,
                            const std::vector<std::uint8_t>& outcomes, JsonlProcesses& processes,
                            ReadBudget& budget);
std::string_view take_blame(Fields& fields, Profile& profile,
                            const std::vector<std::uint8_t>& outcomes, JsonlProcesses& processes,
                            ReadBudget& budget);

}  // namespace labelscope::cli
