// One list of all sources' rules, and how they are found.
#include "labelscope/check_rule.h"

#include <algorithm>

#include "findings/rule_tables.h"

namespace labelscope {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

std::string_view depth_name(CheckDepth depth) {
  switch (depth) {
    case CheckDepth::kStatic:
      return "static";
    case CheckDepth::kLive:
      return "live";
    case CheckDepth::kStep:
      break;
  }
  return "step";
}

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const std::span<const Rule> table : {abi_v1_rules()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    return all;
  }();
  return rules;
}

const Rule& rule_of(RuleId id) { return *std::ranges::lower_bound(all_rules(), id, {}, &Rule::id); }

const Rule* find_rule(std::string_view code_or_name) {
  const auto rules = all_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) {
    return code_or_name == rule.code || code_or_name == rule.name;
  });
  return found == rules.end() ? nullptr : &*found;
}

std::vector<RuleId> rules_of_label_sets(CheckDepth depth) {
  std::vector<RuleId> rules;
  for (const Rule& rule : all_rules()) {
    if (rule.about == RuleSubject::kLabelSet && rule.depth <= depth) rules.push_back(rule.id);
  }
  return rules;
}

}  // namespace labelscope
