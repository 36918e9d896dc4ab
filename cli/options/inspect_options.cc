#include "cli/options/inspect_options.h"

#include <CLI/CLI.hpp>

#include "cli/options/command_line.h"
#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

constexpr const char* kInspectFooter = R"(
Examples:
  labelscope inspect ./server
  labelscope inspect build/ /opt/app/lib
  labelscope inspect --json libcustomlabels.so | jq '.files[].verdict'

Exit status: 0 some file publishes labels, 1 none does or a file could not be read, 2 usage,
3 no such file, 4 permission. The manual: man labelscope-inspect)";

}  // namespace

void InspectParser::add_to(CLI::App& app) {
  CLI::App* inspect =
      app.add_subcommand(name(), "Tell what ELF files publish, and whether readers will find it");
  inspect->footer(kInspectFooter);
  inspect->add_option("FILE", typed_.paths, "Programs, libraries, and directories to search")
      ->type_name("");
  const char* output = "Output";
  inspect->add_flag("-a,--all", typed_.all, "In directories, show also files that publish nothing")
      ->group(output);
  inspect->add_flag("--details", typed_.details, "Everything about each file that is shown")
      ->group(output);
  inspect->add_flag("--json", typed_.json, "One JSON object, with all details")->group(output);
  messages_.add_to(*inspect);
}

Options InspectParser::checked(const CommandTail&) const {
  InspectOptions options = typed_;
  if (options.paths.empty()) refuse("nothing to inspect: name a file or a directory");
  for (const std::string& path : options.paths) {
    if (path.empty()) refuse("a file name is empty");
  }
  if (options.json && options.details) refuse("--json has all details: leave --details out");
  options.messages = messages_.checked();
  return options;
}

}  // namespace labelscope::cli
