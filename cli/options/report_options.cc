// The options of report as they are typed.
#include "cli/options/report_options.h"

#include <algorithm>

#include "cli/options/values.h"

namespace labelscope::cli {
const CommandTexts ReportOptions::kTexts{
    .name = "report",
    .about = "Show what recordings (.jsonl, pprof) hold, and write them in other formats",
    .usage = "labelscope report [OPTIONS] RECORDING...",
    .footer = R"(
Examples:
  labelscope report run.jsonl
  labelscope report run.jsonl --where tenant=42 --summary http.route
  labelscope report monday.jsonl tuesday.jsonl -o both.html
  labelscope report run.jsonl --since 10s --until 20s -o peak.pb.gz
  labelscope report cpu.pprof -o cpu.html

Several recordings are added up. Exit status: 0 ok, 1 a recording could not be read whole, 2 usage,
3 no such file, 4 permission, 5 no sample is left. The manual: man labelscope-report)"};

void ReportOptions::declare(OptionList& list) {
  list.files("Recordings (.jsonl) and pprof files, also of other tools; - for stdin", recordings);
  SelectionOptions::declare(list);
  OutputOptions::declare(list, "none, and what the recordings hold is shown");
  messages.declare(list);
}

void ReportOptions::check(const OptionList& list, const CommandTail& /*tail*/) {
  if (recordings.empty()) refuse("nothing to report: name a recording (.jsonl, pprof)");
  if (std::count(recordings.begin(), recordings.end(), "-") > 1) {
    refuse("stdin can be read once only");
  }
  SelectionOptions::check();
  if (format && outputs.empty()) {
    refuse("--format has a meaning with --output only: add -o - or -o FILE" +
           std::string(format->extension));
  }
  OutputOptions::check();
  messages.check(list);
}

}  // namespace labelscope::cli
