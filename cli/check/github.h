// Annotations for GitHub's workflows: lines that the runner takes for commands. Findings that the
// baseline accepts are left out; a note becomes a "notice".
//
// Source: GitHub's documentation, "Workflow commands"; escapes as in the toolkit's command.ts.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

// A line for each finding and each problem, and the verdict in the last one.
std::string render_check_github(const CheckReport& report, const CheckVerdict& verdict);

}  // namespace labelscope::cli
