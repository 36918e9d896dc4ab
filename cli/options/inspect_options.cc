// The options of inspect as they are typed.
#include "cli/options/inspect_options.h"

#include "cli/options/values.h"

namespace labelscope::cli {
namespace {}  // namespace

const CommandTexts InspectOptions::kTexts{
    .name = "inspect",
    .about = "Show what ELF files publish, and whether readers will find it",
    .usage = "labelscope inspect [OPTIONS] FILE|DIRECTORY...",
    .footer = R"(
Examples:
  labelscope inspect ./server
  labelscope inspect build/ /opt/app/lib
  labelscope inspect --json libcustomlabels.so | jq '.files[].verdict'
  labelscope inspect --unwind build/libcrypto.so

Exit status: 0 some file publishes labels (--unwind: stacks lead through all), 1 none does (some end)
or a file could not be read, 2 usage, 3 no such file, 4 permission. The manual: man
labelscope-inspect)"};

void InspectOptions::declare(OptionList& list) {
  list.files("Programs, libraries, and directories to search", paths);
  list.group("Output");
  list.flag("-a,--all", "In directories, show also files that publish nothing", all);
  list.flag("--details", "Everything about each file that is shown", details);
  list.flag("--json", "One JSON object, with all details", json);
  list.flag("--unwind", "Show instead where stacks cannot be followed through the code", unwind);
  messages.declare(list);
}

void InspectOptions::check(const OptionList& list, const CommandTail& /*tail*/) {
  if (paths.empty()) refuse("nothing to inspect: name a file or a directory");
  for (const std::string& path : paths) {
    if (path.empty()) refuse("a file name is empty");
  }
  if (json && details) refuse("--json has all details: leave --details out");
  if (unwind && all) refuse("--unwind shows all programs and libraries: leave --all out");
  messages.check(list);
}

}  // namespace labelscope::cli
