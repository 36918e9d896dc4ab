// Reads an unpacked pprof file (profile.proto of google/pprof).
#pragma once

#include <string>
#include <string_view>

#include "cli/format/common/read_budget.h"
#include "cli/format/recording_reader.h"

namespace labelscope::cli {

// `value` is that of read_recording(). Fails with kLimit if the file needs more memory than the
// budget has.
Result<ReadRecording> read_pprof(std::string_view bytes, ReadBudget& budget,
                                 const std::string& value = {});

}  // namespace labelscope::cli
