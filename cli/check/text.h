// What check tells people: findings by subject, and a verdict in the last line.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

std::string render_check_text(const CheckReport& report, const CheckVerdict& verdict, bool color);

}  // namespace labelscope::cli
