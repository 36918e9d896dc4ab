// Reads an unpacked pprof file (profile.proto of google/pprof).
#pragma once

#include <string_view>

#include "cli/format/recording_reader.h"

namespace labelscope::cli {

Result<ReadRecording> read_pprof(std::string_view bytes);

}  // namespace labelscope::cli
