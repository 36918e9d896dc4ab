#include "cli/options/selection_options.h"

#include "cli/options/values.h"
#include "cli/text/shares.h"

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

void SelectionOptions::declare(OptionList& list) {
  list.group("Which samples");
  list.words(
      "--where", "CONDITION",
      "With this label: KEY=VALUE, KEY!=VALUE, KEY~REGEX, KEY!~REGEX (repeatable: all hold); "
      "the value <none> is no such label, which tables call (unset)",
      selection.conditions, parse_conditions);
  list.word("--since", "TIME", "Not before this time from the start (10, 500ms, 2m)",
            selection.since, parse_moment);
  list.word(
      "--value", "NAME",
      "Which value of a pprof file that has several (inuse_space, delay); default: CPU or wall "
      "time, else the file's own default",
      value, NotEmpty{"the name of the value"});
  list.word("--until", "TIME", "Before this time from the start", selection.until, parse_duration);
}

void SelectionOptions::check() const {
  if (selection.since && selection.until && *selection.until <= *selection.since) {
    const auto text = [](const auto& time) {
      return time_text(static_cast<std::uint64_t>(time->count()));
    };
    refuse("--until (" + text(selection.until) + ") must be later than --since (" +
           text(selection.since) + ")");
  }
}

}  // namespace labelscope::cli
