// check FILE...: the static rules over files and all that is below directories.
#pragma once

#include <string>
#include <vector>

#include "cli/check/report.h"

namespace labelscope::cli {

// Adds a subject for each file that publishes labels or tries to. A named file that cannot be
// checked or publishes nothing is a problem, and so is a directory without any publisher; what
// cannot be read below a directory is a remark.
void check_files(const std::vector<std::string>& paths, CheckReport& report);

}  // namespace labelscope::cli
