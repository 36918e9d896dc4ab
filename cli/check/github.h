// Annotations of GitHub's workflows: lines that the runner takes for commands.
//
// Source: GitHub's documentation, "Workflow commands"; its escapes are those of the toolkit's
// command.ts. What the baseline accepts is not shown, notes are notices.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

// A line for each finding and each problem, and the verdict in the last one.
std::string render_check_github(const CheckReport& report, const CheckVerdict& verdict);

}  // namespace labelscope::cli
