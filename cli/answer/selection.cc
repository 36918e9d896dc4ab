#include "cli/answer/selection.h"

#include <algorithm>
#include <array>

#include "cli/answer/blame.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/text/shares.h"

namespace labelscope::cli {

namespace {

// regerror() calls most of them "invalid" and no more.
std::string regex_problem(int problem, const regex_t& expression) {
  switch (problem) {
    case REG_BADPAT:  // glibc reports this for a "[" at the end
    case REG_EBRACK:
      return "a [ is not closed with ], or has nothing in it; write \\[ for the character";
    case REG_EPAREN:
      return "a ( is not closed with ); write \\( for the character";
    case REG_EBRACE:
      return "a { is not closed with }; write \\{ for the character";
    case REG_BADBR:
      return "between { and } numbers are wanted, like {2} or {2,5}, the smaller one first";
    case REG_BADRPT:
      return "there is nothing to repeat before a *, + or ?, or before { and }";
    case REG_ERANGE:
      return "a range between [ and ] ends before it begins";
    case REG_ECTYPE:
      return "no such class of characters between [: and :]; alpha, digit and space are some";
    case REG_EESCAPE:
      return "a \\ stands at the end, and nothing behind it";
    default:
      std::array<char, 256> why{};
      ::regerror(problem, &expression, why.data(), why.size());
      return why.data();
  }
}

}  // namespace

Result<Condition> Condition::parse(const std::string& text) {
  const std::size_t sign = text.find_first_of("=~", text.find_first_not_of("=~"));
  const bool negated = sign != std::string::npos && sign > 0 && text[sign - 1] == '!';
  const std::size_t key_size = negated ? sign - 1 : sign;
  if (sign == std::string::npos || key_size == 0) {
    return Error{ErrorCode::kMalformed, "KEY=VALUE, KEY!=VALUE, KEY~REGEX or KEY!~REGEX is wanted"};
  }
  Condition made;
  made.text_ = text;
  made.key_ = text.substr(0, key_size);
  made.value_ = text.substr(sign + 1);
  made.wanted_ = !negated;
  if (text[sign] == '~') {
    auto expression = std::make_unique<regex_t>();
    const int problem = ::regcomp(expression.get(), made.value_.c_str(), REG_EXTENDED | REG_NOSUB);
    if (problem != 0) {
      return Error{ErrorCode::kMalformed,
                   "no regular expression: " + regex_problem(problem, *expression)};
    }
    made.expression_ = std::shared_ptr<regex_t>(expression.release(), Free());
  } else if (made.value_ == kUnsetText) {
    made.value_ = kNoneText;  // the word of tables and of the page
  } else if (made.value_ == "(unreadable)") {
    made.value_ = kUnreadableText;
  }
  return made;
}

bool Condition::holds(const std::string& value) const {
  const bool fits = expression_ ? ::regexec(expression_.get(), value.c_str(), 0, nullptr, 0) == 0
                                : value == value_;
  return fits == wanted_;
}

namespace {

// Writes "with tenant=42 and http.route~^/pay, from 1 s to 2.5 s on".
std::string words_of(const Selection& selection) {
  std::string words;
  for (const Condition& condition : selection.conditions) {
    words += (words.empty() ? "with " : " and ") + condition.text();
  }
  const auto time = [&](const char* word, const auto& at) {
    if (!at) return;
    words +=
        (words.empty() ? "" : " ") + (word + time_text(static_cast<std::uint64_t>(at->count())));
  };
  time("from ", selection.since);
  time("up to ", selection.until);
  return words;
}

}  // namespace

Result<std::vector<SeenValues>> select(Profile& profile, const Selection& selection) {
  std::vector<SeenValues> seen(selection.conditions.size());
  if (selection.empty()) return seen;
  const bool timed = selection.since || selection.until;
  if (timed && std::ranges::any_of(profile.rows, lacks_time)) {
    return Error{ErrorCode::kUnsupported,
                 std::string("it does not say when its samples were taken: leave ") +
                     (!selection.until   ? "--since"
                      : !selection.since ? "--until"
                                         : "--since and --until") +
                     " out, or give the .jsonl recording"};
  }
  const RowLabels labels(profile);
  const auto nanoseconds_of = [](const auto& time, std::uint64_t otherwise) {
    return time ? static_cast<std::uint64_t>(time->count()) : otherwise;
  };
  const std::uint64_t since = nanoseconds_of(selection.since, 0);
  const std::uint64_t until = nanoseconds_of(selection.until, UINT64_MAX);
  const auto wanted = [&](const SampleRow& row) {
    const std::uint64_t at = row.time_ns - std::min(row.time_ns, profile.start_monotonic_ns);
    if (timed && (at < since || at >= until || row.count == 0)) return false;
    bool all = true;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const Condition& condition = selection.conditions[i];
      std::string value = labels.group_value(row, condition.key());
      const bool holds = condition.holds(value);
      seen[i].met |= holds;
      if (!holds && seen[i].values.size() <= SeenValues::kMost)
        seen[i].values.insert(std::move(value));
      all &= holds;
    }
    return all;
  };
  std::uint64_t without_moment_ns = 0;
  for (const SampleRow& row : profile.rows) {
    if (timed && row.count == 0) without_moment_ns += row.weight_ns;
  }
  std::erase_if(profile.rows, [&](const SampleRow& row) { return !wanted(row); });
  const bool of_totals = !timed && std::ranges::all_of(selection.conditions, [](const auto& one) {
    return !is_key_of_samples(one.key());
  });
  std::erase_if(profile.waits, [&](const WaitRow& row) {
    return !of_totals || !std::ranges::all_of(selection.conditions, [&](const Condition& one) {
      return one.holds(labels.group_value(labels.stand_in(row), one.key()));
    });
  });
  select_blame(profile, selection);
  profile.thread_ledgers = {};
  profile.ledger = ledger_of_rows(profile);
  profile.remarks.push_back("only samples " + words_of(selection));
  if (without_moment_ns != 0) {
    profile.remarks.push_back("without " + time_text(without_moment_ns) +
                              " of waits, at any time, of which no sample says when they were");
  }
  return seen;
}

}  // namespace labelscope::cli
