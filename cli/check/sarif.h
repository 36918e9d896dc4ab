// SARIF 2.1.0, for GitHub's code scanning and other collectors of static analysis.
//
// Source: OASIS Static Analysis Results Interchange Format (SARIF) Version 2.1.0. All rules are in
// tool.driver.rules, whether they were looked at or not, so that a rule's index does not change
// within one version of labelscope.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

// One JSON object, indented, with a newline at its end. `version` is labelscope's.
std::string render_check_sarif(const CheckReport& report, const CheckVerdict& verdict,
                               const char* version);

}  // namespace labelscope::cli
