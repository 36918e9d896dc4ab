// The options of report and diff as they are typed.
#include "cli/options/report_options.h"

#include <algorithm>

#include "cli/format/format.h"
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

const CommandTexts DiffOptions::kTexts{.name = "diff",
                                       .about = "Compare two recordings, by label and by function",
                                       .usage = "labelscope diff [OPTIONS] A B",
                                       .footer = R"(
Examples:
  labelscope diff before.jsonl after.jsonl
  labelscope diff before.jsonl after.jsonl --where http.route=/pay --summary tenant
  labelscope diff monday.pb.gz tuesday.pb.gz -o diff.html

A and B are .jsonl recordings or pprof files. What labelscope report makes of several recordings
(-o FILE.jsonl) can be compared as one. Differences that chance may have made have a ~ behind them.
Exit status: 0 ok, 1 a recording could not be read whole, 2 usage, 3 no such file, 4 permission,
5 no sample is left of one. The manual: man labelscope-diff)"};

void DiffOptions::declare(OptionList& list) {
  list.files("Two recordings (.jsonl, pprof), - for stdin", recordings);
  SelectionOptions::declare(list);
  list.group("Output");
  list.words("--summary", "KEY[,KEY]",
             "Compare by value of these labels (repeatable); default: all with few values", keys,
             parse_keys);
  list.flag("--json", "A line of JSON for each table", json);
  list.word("-o,--output", "FILE", "A page that compares A and B (.html), - for stdout", page,
            NotEmpty{"the file name"});
  list.flag("--overwrite", "Replace a file that exists", overwrite);
  messages.declare(list);
}

void DiffOptions::check(const OptionList& list, const CommandTail& tail) {
  if (recordings.size() != 2) refuse("two recordings are compared: labelscope diff A B");
  if (recordings[0] == "-" && recordings[1] == "-") refuse("stdin can be read once only");
  if (!page.empty() && page != "-" && !page.ends_with(Format::kHtml.extension)) {
    refuse("--output", page, "a comparison is written as a page: name it FILE.html");
  }
  if (json && page == "-") refuse("--json and the page both want stdout");
  SelectionOptions::check();
  command_line = tail.command_line;
  messages.check(list);
}

}  // namespace labelscope::cli
