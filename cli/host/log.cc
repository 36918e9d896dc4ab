// Writes to stderr by spdlog, one line for each message, with the program's name in front as every
// tool does.
#include "cli/host/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/text/escape.h"

namespace labelscope::cli::log {
namespace {

// A message may hold text that a target chose: names of files, even thousands of them. Without
// these no message has a quarter of this length.
constexpr std::size_t kLongest = 4096;

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto made = std::make_shared<spdlog::logger>("labelscope",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *kLogger;
}

}  // namespace

void open(Level level) {
  logger().set_level(level == Level::kQuiet     ? spdlog::level::warn
                     : level == Level::kVerbose ? spdlog::level::debug
                                                : spdlog::level::info);
}

void verbose(std::string_view message) { logger().debug("{}", without_middle(message, kLongest)); }
void info(std::string_view message) { logger().info("{}", without_middle(message, kLongest)); }
void warning(std::string_view message) {
  logger().warn("labelscope: warning: {}", without_middle(message, kLongest));
}
void error(std::string_view message) {
  logger().error("labelscope: {}", without_middle(message, kLongest));
}

}  // namespace labelscope::cli::log
