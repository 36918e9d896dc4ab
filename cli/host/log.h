// Diagnostics for people, on stderr. Text from a target must be escaped (text/escape.h) before it
// comes here. Only log.cc uses spdlog.
#pragma once

#include <string_view>

namespace labelscope::cli::log {

enum class Level { kQuiet, kNormal, kVerbose };

// Call it before the first message. Quiet keeps errors and warnings.
void open(Level level);
void verbose(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);
void error(std::string_view message);

}  // namespace labelscope::cli::log
