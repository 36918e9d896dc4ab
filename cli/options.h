// The command line, parsed and checked. The only user of CLI11 is options.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/format/format.h"
#include "cli/log.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

enum class ColorMode { kAuto, kAlways, kNever };

struct RecordOptions {
  std::vector<Pid> pids;             // either these
  std::vector<std::string> command;  // or this
  std::optional<std::chrono::nanoseconds> duration;
  std::uint32_t frequency_hz = 99;
  std::vector<std::string> outputs;  // "-" is stdout; empty: one file with a name of its own
  std::optional<Format> format;      // of every output; otherwise by extension
  bool overwrite = false;
  bool kernel_stacks = true;
  bool stacks = true;  // --call-graph none turns them off
  bool follow_children = true;
  std::vector<std::string> group_by;
  std::vector<std::string> summary;
  std::uint32_t max_processes = 4096;
  std::uint32_t ring_mib = 8;
  bool progress = true;
  ColorMode color = ColorMode::kAuto;
  log::Level log_level = log::Level::kNormal;
  std::string command_line;  // as it was typed, for the files' headers
};

// Parsing ended the run: text for stdout (--help, --version) or stderr, and the exit status.
struct ParseEnd {
  std::string output;
  std::string error;
  int status = 0;
};

std::variant<RecordOptions, ParseEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace labelscope::cli
