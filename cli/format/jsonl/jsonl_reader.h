// Reads a .jsonl recording (docs/schema/recording-format.md). A line that cannot be read is lost
// alone: lines are numbered, so the others keep their places.
#pragma once

#include <iosfwd>

#include "cli/format/common/read_budget.h"
#include "cli/format/recording_reader.h"

namespace labelscope::cli {

// Fails with kLimit if the recording needs more memory than the budget has.
Result<ReadRecording> read_jsonl(std::istream& in, ReadBudget& budget);

}  // namespace labelscope::cli
