// The rules of each source of labels: a table that the source has by itself, in the order of codes.
// check_rule.cc makes one list of them.
#pragma once

#include <span>

#include "labelscope/check_rule.h"

namespace labelscope {

std::span<const Rule> abi_v1_rules();

}  // namespace labelscope
