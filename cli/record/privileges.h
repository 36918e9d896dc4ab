// What recording needs from the kernel, checked before it is tried, so that the answer is one
// sentence.
#pragma once

#include <optional>
#include <string>

#include "labelscope/ids.h"

namespace labelscope::cli {

// nullopt: nothing is missing that can be told beforehand. Otherwise the message, several lines,
// ending with the ways to give what is missing.
std::optional<std::string> missing_privileges(Pid target);

}  // namespace labelscope::cli
