// The rules as one table, and how they are found.
#include <algorithm>
#include <array>

#include "check/check_rule_texts.h"
#include "labelscope/check_rule.h"

namespace labelscope {
namespace {

std::array<Rule, kRuleCount> joined() {
  std::array<Rule, kRuleCount> all{};
  auto end = std::copy(file_rules().begin(), file_rules().end(), all.begin());
  std::copy(data_rules().begin(), data_rules().end(), end);
  return all;
}

}  // namespace

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
  static const std::array<Rule, kRuleCount> rules = joined();
  return rules;
}

const Rule& rule_of(RuleId id) { return all_rules()[static_cast<std::size_t>(id)]; }

const Rule* find_rule(std::string_view code_or_name) {
  const auto rules = all_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) {
    return code_or_name == rule.code || code_or_name == rule.name;
  });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace labelscope
