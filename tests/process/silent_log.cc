// The program's log is not in the library. What is wrong shows in what tests of sessions check.
#include <string_view>

#include "cli/host/log.h"

namespace labelscope::cli::log {
void verbose(std::string_view) {}
void info(std::string_view) {}
void warning(std::string_view) {}
void error(std::string_view) {}
}  // namespace labelscope::cli::log
