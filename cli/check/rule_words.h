// check --rules: the rules as a list, and one rule with all that helps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "labelscope/check_rule.h"

namespace labelscope::cli {

// A line for each.
std::string list_rules(bool color);
// Paragraphs, in lines of at most 80 columns.
std::string explain_rule(const Rule& rule);
// A JSON array with everything about these rules.
std::string render_rules_json(std::span<const Rule* const> rules);

}  // namespace labelscope::cli
