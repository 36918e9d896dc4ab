// The texts of the rules, in two tables: what a file shows, and what a label set in memory shows.
// check_rules.cc makes one of them. In the order of RuleId, without gaps.
#pragma once

#include <span>

#include "labelscope/check_rule.h"

namespace labelscope {

std::span<const Rule> file_rules();  // LS001 to LS032
std::span<const Rule> data_rules();  // LS040 to LS050

}  // namespace labelscope
