// How the options of report are typed.
#include "cli/options/report_options.h"

#include <algorithm>

#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

std::vector<Condition> parse_conditions(const std::string& option,
                                        const std::vector<std::string>& texts) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts) {
    Result<Condition> condition = Condition::parse(text);
    if (!condition) refuse(option, text, condition.error().context);
    conditions.push_back(*std::move(condition));
  }
  return conditions;
}

}  // namespace

const CommandTexts ReportOptions::kTexts{
    .name = "report",
    .about = "Tell what recordings (.jsonl) hold, and write them in other formats",
    .usage = "labelscope report [OPTIONS] RECORDING...",
    .footer = R"(
Examples:
  labelscope report run.jsonl
  labelscope report run.jsonl --where tenant=42 --summary http.route
  labelscope report monday.jsonl tuesday.jsonl -o both.html
  labelscope report run.jsonl --since 10s --until 20s -o peak.pb.gz

Several recordings are added up. Exit status: 0 ok, 1 a recording could not be read whole, 2 usage,
3 no such file, 4 permission, 5 no sample is left. The manual: man labelscope-report)"};

void ReportOptions::declare(OptionList& list) {
  list.files("Recordings that record -o FILE.jsonl has written, - for stdin", recordings);
  list.group("Which samples");
  list.words("--where", "CONDITION",
             "With this label: KEY=VALUE, KEY!=VALUE, KEY~REGEX, KEY!~REGEX (repeatable: all hold)",
             selection.conditions, parse_conditions);
  list.word("--since", "TIME", "Not before this time from the start (10, 500ms, 2m)",
            selection.since, parse_duration);
  list.word("--until", "TIME", "Before this time from the start", selection.until, parse_duration);
  OutputOptions::declare(list, "none, and what the recordings hold is told");
  messages.declare(list);
}

void ReportOptions::check(const OptionList& list, const CommandTail& /*tail*/) {
  if (recordings.empty()) refuse("nothing to report: name a recording (.jsonl)");
  if (std::count(recordings.begin(), recordings.end(), "-") > 1) {
    refuse("stdin can be read once only");
  }
  if (selection.since && selection.until && *selection.until <= *selection.since) {
    refuse("--until lies not behind --since");
  }
  if (format && outputs.empty()) refuse("--format has a meaning with --output only");
  OutputOptions::check();
  messages.check(list);
}

}  // namespace labelscope::cli
