// -q, -v, --no-progress and --color.
#include "cli/options/message_options.h"

#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

constexpr Named<ColorMode> kColors[] = {
    {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};

}  // namespace

void MessageOptions::declare(OptionList& list) {
  list.group("Messages");
  list.flag("-q,--quiet", "Errors and warnings only");
  list.flag("-v,--verbose", "Say more");
  list.flag("--no-progress", "No status line on a terminal", progress, false);
  list.word("--color", "WHEN", names_in(kColors, " or "), color, choice(kColors), "auto");
}

void MessageOptions::check(const OptionList& list) {
  const bool quiet = list.given("--quiet");
  const bool verbose = list.given("--verbose");
  if (quiet && verbose) refuse("--quiet and --verbose exclude each other");
  if (quiet) {
    log_level = log::Level::kQuiet;
    progress = false;
  } else if (verbose) {
    log_level = log::Level::kVerbose;
  }
}

}  // namespace labelscope::cli
