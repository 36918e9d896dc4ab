#include "cli/options/message_options.h"

#include <CLI/CLI.hpp>

#include "cli/format/escape.h"
#include "cli/options/values.h"

namespace labelscope::cli {

void MessageOptionsParser::add_to(CLI::App& command) {
  const char* group = "Messages";
  command.add_flag("-q,--quiet", quiet_, "Errors and warnings only")->group(group);
  command.add_flag("-v,--verbose", verbose_, "Say more")->group(group);
  command.add_flag("--no-progress", no_progress_, "No status line on a terminal")->group(group);
  command.add_option("--color", color_, "auto, always or never")
      ->type_name("WHEN")
      ->capture_default_str()
      ->group(group);
}

MessageOptions MessageOptionsParser::checked() const {
  MessageOptions options;
  if (quiet_ && verbose_) refuse("--quiet and --verbose exclude each other");
  options.progress = !no_progress_ && !quiet_;
  options.log_level = quiet_     ? log::Level::kQuiet
                      : verbose_ ? log::Level::kVerbose
                                 : log::Level::kNormal;
  if (color_ != "auto" && color_ != "always" && color_ != "never") {
    refuse("--color " + escape_terminal(color_) + ": unknown; auto, always and never are known");
  }
  options.color = color_ == "always"  ? ColorMode::kAlways
                  : color_ == "never" ? ColorMode::kNever
                                      : ColorMode::kAuto;
  return options;
}

}  // namespace labelscope::cli
