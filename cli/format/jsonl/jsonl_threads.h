// The lines of a recording that say how the time of each thread divides
// (docs/schema/recording-format.md).
#pragma once

#include <string_view>

#include "cli/format/common/json_values.h"
#include "cli/format/jsonl/jsonl_fields.h"
#include "cli/format/jsonl/jsonl_processes.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

Json thread_ledger_json(const ThreadLedger& thread);
// The line of all threads that have no line.
Json other_threads_json(const ThreadLedgers& ledgers);

// They return what is wrong with the line; empty: nothing. ThreadLedgers bounds what they keep.
std::string_view take_thread_ledger(Fields& fields, Profile& profile, JsonlProcesses& processes);
std::string_view take_other_threads(Fields& fields, Profile& profile);

}  // namespace labelscope::cli
