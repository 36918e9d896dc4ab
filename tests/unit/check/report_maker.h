// Reports of check made by hand, with everything in them that a stranger could put there.
#pragma once

#include <string>

#include "cli/check/report.h"

namespace labelscope::test {

// Two lines, a quote, markup, an escape sequence, a byte that is no UTF-8, characters that XML and
// GitHub's commands treat in their own way.
inline const std::string kHostile = "a\nb\r\"<&>'\x1b[2J\xff%,:\xEF\xBF\xBE]]>::error::x";

cli::CheckedSubject clean_file(const std::string& path);
// LS031 (error), LS013 (warning).
cli::CheckedSubject failing_file(const std::string& path);
// LS050 (error) in code, LS045 (note) of a thread.
cli::CheckedSubject failing_process(const std::string& name);

Diagnostic diagnostic(RuleId rule, const std::string& subject, const std::string& found);

}  // namespace labelscope::test
