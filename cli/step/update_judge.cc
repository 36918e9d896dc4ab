#include "cli/step/update_judge.h"

#include <algorithm>
#include <span>

#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

using Chain = std::vector<std::string>;

bool starts_with(const Chain& chain, const Chain& start, std::size_t length) {
  return chain.size() >= length &&
         std::equal(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(length),
                    chain.begin());
}

// Returns whether an element of a chain stands for a call of an inlined function.
bool is_inlined(const std::string& element) { return element.find('@') != std::string::npos; }

// The element "#7 f" is an activation of f, "f@12" is an inlined call.
std::string function_of(const std::string& element) {
  if (is_inlined(element)) return element.substr(0, element.find('@'));
  const std::size_t space = element.find(' ');
  return space == std::string::npos ? element : element.substr(space + 1);
}

// Returns the function of the program that made both changes in one activation, and at least one of
// them by itself. Empty: there is none.
Chain shared_function(const Change& first, const Change& second) {
  const auto differs = std::ranges::mismatch(first.chain, second.chain);
  const bool own_code = differs.in1 == first.chain.end() || differs.in2 == second.chain.end();
  return own_code ? Chain(first.chain.begin(), differs.in1) : Chain();
}

// Returns whether the thread did something in between that shows that the state was meant.
bool is_parted(const Interval& between) {
  return between.ran_free || between.waited || between.steps > kStableSteps;
}

// Returns whether a loop around an inlined function came to its next iteration: there was a jump
// back in the function that it is inlined into, from outside of the inlined one.
bool came_around(const Chain& common, const Interval& between) {
  if (!is_inlined(common.back())) return false;
  return std::any_of(between.jumps_back.begin(), between.jumps_back.end(), [&](const Chain& jump) {
    return starts_with(jump, common, common.size() - 1) &&
           !starts_with(jump, common, common.size());
  });
}

bool is_unreadable(const SetCheck& check) {
  return check.set.state == CheckedSet::State::kUnreadable;
}

std::set<Label> labels_of(const CheckedSet& set) { return {set.labels.begin(), set.labels.end()}; }

std::set<std::string> keys_of(const CheckedSet& set) {
  std::set<std::string> keys;
  for (const Label& label : set.labels) keys.insert(label.key);
  return keys;
}

// Returns the values of these keys, in the order of the keys; nullopt for those without a value.
std::vector<std::optional<std::string>> values_of(std::span<const std::string_view> keys,
                                                  const CheckedSet& set) {
  std::vector<std::optional<std::string>> values;
  for (const std::string_view key : keys) {
    const auto label = std::ranges::find(set.labels, key, &Label::key);
    values.push_back(label == set.labels.end() ? std::nullopt : std::optional(label->value));
  }
  return values;
}

std::string quoted(const std::string& key) {
  constexpr std::size_t kMost = 64;
  return '"' + key.substr(0, kMost) + '"';
}

// Describes how a set differs from those around it; empty if labels that are set one by one can
// lead through it. The text names keys and no values, so that it is the same in each run.
std::string difference_of(const CheckedSet& seen, const CheckedSet& before,
                          const CheckedSet& after) {
  const auto old_labels = labels_of(before);
  const auto new_labels = labels_of(after);
  const auto old_keys = keys_of(before);
  const auto new_keys = keys_of(after);
  for (const Label& label : seen.labels) {
    if (old_keys.count(label.key) == 0 && new_keys.count(label.key) == 0) {
      return "it has a key that neither of them has";
    }
    if (old_labels.count(label) == 0 && new_labels.count(label) == 0) {
      return "the value of " + quoted(label.key) + " is none of theirs";
    }
  }
  const auto keys = keys_of(seen);
  for (const std::string& key : old_keys) {
    if (new_keys.count(key) != 0 && keys.count(key) == 0) return quoted(key) + " is missing";
  }
  return {};
}

const Diagnostic* find_rule_in(const SetCheck& check, RuleId rule) {
  for (const Diagnostic& diagnostic : check.diagnostics) {
    if (diagnostic.rule == rule) return &diagnostic;
  }
  return nullptr;
}

bool breaks_more(const SetCheck& seen, const SetCheck& before) {
  return std::any_of(seen.diagnostics.begin(), seen.diagnostics.end(), [&](const Diagnostic& d) {
    return rule_of(d.rule).severity == Severity::kError && find_rule_in(before, d.rule) == nullptr;
  });
}

}  // namespace

UpdateJudge::UpdateJudge(const UpdateRule& rule, const SetCheck& at_rest, Report report)
    : rule_(rule), report_(std::move(report)) {
  found(at_rest);
}

bool UpdateJudge::are_one_update(const Change& first, const Change& second,
                                 const Interval& between) {
  if (first.region != 0 || second.region != 0) return first.region == second.region;
  if (is_parted(between)) return false;
  if (first.publisher_call != 0 || second.publisher_call != 0) {
    return first.publisher_call == second.publisher_call && between.program_steps == 0;
  }
  if (first.published && second.published) return false;
  if (first.published != second.published) {
    const Change& in_place = first.published ? second : first;
    if (!in_place.by_runtime) return false;
  }
  if (between.callee_steps > kCalleeSteps) return false;
  const Chain function = shared_function(first, second);
  return !function.empty() && !came_around(function, between);
}

void UpdateJudge::note_doubt(const Change& first, const Change& second, const Interval& between) {
  // If the variable is no pointer, a store to it is like any other.
  const bool in_program = rule_.by_pointer && first.region == 0 && second.region == 0 &&
                          first.publisher_call == 0 && second.publisher_call == 0;
  if (!in_program || !first.published || second.published || second.by_runtime) return;
  if (is_parted(between)) return;
  const Chain function = shared_function(first, second);
  if (!function.empty()) doubtful_.insert(function_of(function.back()));
}

void UpdateJudge::add(Change change, const Interval& since) {
  if (!changes_.empty() && !are_one_update(changes_.back(), change, since)) {
    note_doubt(changes_.back(), change, since);
    close();
  }
  changes_.push_back(std::move(change));
}

std::optional<std::string> UpdateJudge::what_is_torn(const Change& change) const {
  const SetCheck& last = changes_.back().check;
  const CheckedSet& seen = change.check.set;
  if (seen == before_.set || seen == last.set) return std::nullopt;
  if (rule_.hides && seen.state == CheckedSet::State::kNone) return std::nullopt;
  // If the state breaks a rule that the set before did not break, the finding of that rule is
  // enough.
  if (is_unreadable(change.check) || breaks_more(change.check, before_)) return std::nullopt;
  // If no reader can read the set before or after the update, there is nothing to compare with.
  if (is_unreadable(before_) || is_unreadable(last)) return std::nullopt;
  const auto ids = [&](const CheckedSet& set) { return values_of(rule_.together, set); };
  if (ids(seen) != ids(before_.set) && ids(seen) != ids(last.set)) {
    return "its IDs are not those of one of them";
  }
  std::string difference = difference_of(seen, before_.set, last.set);
  if (!difference.empty()) return difference;
  const bool is_declared = change.region != 0 || change.publisher_call != 0;
  return is_declared ? std::optional("it has labels of both") : std::nullopt;
}

void UpdateJudge::report_rules(const Change& change, const SetCheck& before) {
  for (const Diagnostic& diagnostic : change.check.diagnostics) {
    if (rule_of(diagnostic.rule).severity == Severity::kNote) continue;
    if (find_rule_in(before, diagnostic.rule) != nullptr) continue;
    report_({diagnostic, &change, before_.set, change.check.set, changes_.back().check.set});
  }
}

void UpdateJudge::close() {
  if (changes_.empty()) return;
  const SetCheck* previous = &before_;
  for (const Change& change : changes_) {
    report_rules(change, *previous);
    if (const auto torn = what_is_torn(change)) {
      const Finding finding{FindingCode::kRule,
                            "for a moment readers see " + std::string(rule_.what) +
                                " that is neither the one before the update nor the "
                                "one after it: " +
                                *torn,
                            rule_.fix, rule_.torn};
      report_({finding, &change, before_.set, change.check.set, changes_.back().check.set});
    }
    previous = &change.check;
  }
  before_ = std::move(changes_.back().check);
  changes_.clear();
  ++closed_;
}

void UpdateJudge::finish(const SetCheck& now) {
  if (changes_.empty()) return;
  const Change last = changes_.back();
  close();
  // Notes count only for a set that stays. A writer may pass through such states.
  for (const Diagnostic& diagnostic : now.diagnostics) {
    if (rule_of(diagnostic.rule).severity != Severity::kNote) continue;
    report_({diagnostic, &last, now.set, now.set, now.set});
  }
  before_ = now;
}

void UpdateJudge::found(const SetCheck& at_rest) {
  before_ = at_rest;
  for (const Diagnostic& diagnostic : at_rest.diagnostics) {
    report_({diagnostic, nullptr, at_rest.set, at_rest.set, at_rest.set});
  }
}

}  // namespace labelscope::cli
