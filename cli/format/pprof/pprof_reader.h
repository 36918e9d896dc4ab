// Reads an unpacked pprof file (profile.proto of google/pprof).
#pragma once

#include <string>
#include <string_view>

#include "cli/format/common/read_budget.h"
#include "cli/format/recording_reader.h"

namespace labelscope::cli {

// `value`: as read_recording(). kLimit: what it stands for is over the budget.
Result<ReadRecording> read_pprof(std::string_view bytes, ReadBudget& budget,
                                 const std::string& value = {});

}  // namespace labelscope::cli
