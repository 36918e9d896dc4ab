// This file finds rules. sources/sources.cc makes one list of all sources' rules.
#include "findings/check_rule.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace labelscope {

std::string_view severity_name(Severity severity) {
  static constexpr std::string_view kNames[] = {"note", "warning", "error"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::string_view depth_name(CheckDepth depth) {
  static constexpr std::string_view kNames[] = {"static", "live", "step"};
  return kNames[static_cast<std::size_t>(depth)];
}

const Rule& rule_of(RuleId id) { return *std::ranges::lower_bound(all_rules(), id, {}, &Rule::id); }

namespace {

// Returns 31 for "LS031", "ls31" and "31", and nothing for a name.
std::optional<unsigned> rule_number(std::string_view code) {
  if (code.starts_with("LS") || code.starts_with("ls")) code.remove_prefix(2);
  unsigned number = 0;
  const char* end = code.data() + code.size();
  const auto [parsed, error] = std::from_chars(code.data(), end, number);
  if (error != std::errc{} || parsed != end) return std::nullopt;
  return number;
}

}  // namespace

const Rule* find_rule(std::string_view code_or_name) {
  const std::optional<unsigned> number = rule_number(code_or_name);
  for (const Rule& rule : all_rules()) {
    if (code_or_name == rule.name) return &rule;
    if (number && number == rule_number(rule.code)) return &rule;
  }
  return nullptr;
}

std::vector<RuleId> rules_of_threads(unsigned source, CheckDepth depth) {
  std::vector<RuleId> rules;
  for (const Rule& rule : all_rules()) {
    const bool asked = rule.about != RuleSubject::kFile && rule.depth <= depth;
    if (asked && source_of(rule.id) == source) rules.push_back(rule.id);
  }
  return rules;
}

}  // namespace labelscope
