// Reports of check made by hand, with all text that an attacker could put there.
#pragma once

#include <string>

#include "cli/check/report.h"

namespace labelscope::test {

// This has two lines, a quote, markup, an escape sequence, a byte that is no UTF-8, and characters
// that XML and GitHub's commands treat in their own way.
inline const std::string kHostile = "a\nb\r\"<&>'\x1b[2J\xff%,:\xEF\xBF\xBE]]>::error::x";

cli::CheckedSubject clean_file(const std::string& path);
// The file has LS031 (error) and LS023 (warning).
cli::CheckedSubject failing_file(const std::string& path);
// The process has LS050 (error) in its code and LS045 (note) of a thread.
cli::CheckedSubject failing_process(const std::string& name);

Diagnostic diagnostic(RuleId rule, const std::string& subject, const std::string& found);

}  // namespace labelscope::test
