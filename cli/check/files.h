// `check FILE...`: applies the static rules to files, and to all files below directories.
#pragma once

#include <string>
#include <vector>

#include "cli/check/report.h"
#include "labelscope/inspect.h"

namespace labelscope::cli {

// What was found in one file, as a subject: the rules that were looked at, and what breaks them.
CheckedSubject checked_file(const std::string& path, FileInspection seen);

// Adds a subject for each file that publishes labels or tries to. Problems: a named file that
// cannot be checked or publishes nothing, and a directory without any publisher. A file below a
// directory that cannot be read is a remark.
void check_files(const std::vector<std::string>& paths, CheckReport& report);

}  // namespace labelscope::cli
