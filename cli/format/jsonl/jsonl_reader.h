// Reads a .jsonl recording (docs/schema/recording-format.md). A line that cannot be read is lost
// alone: lines are numbered, so the others keep their places.
#pragma once

#include <iosfwd>

#include "cli/format/recording_reader.h"

namespace labelscope::cli {

Result<ReadRecording> read_jsonl(std::istream& in);

}  // namespace labelscope::cli
