// The command line, parsed and checked. CLI11 is used in this folder only.
#pragma once

#include <string>
#include <variant>

#include "cli/options/check_options.h"
#include "cli/options/doctor_options.h"
#include "cli/options/dump_options.h"
#include "cli/options/inspect_options.h"
#include "cli/options/record_options.h"
#include "cli/options/report_options.h"

namespace labelscope::cli {

// A new command has its options in a file of its own; add them here and in command_line.cc.
using Options = std::variant<RecordOptions, ReportOptions, DiffOptions, DumpOptions, InspectOptions,
                             CheckOptions, DoctorOptions>;

// Parsing ended the run: text for stdout (--help, --version) or stderr, and the exit status.
struct ParseEnd {
  std::string output;
  std::string error;
  int status = 0;
};

std::variant<Options, ParseEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace labelscope::cli
