// JUnit's XML, as CI systems read it: a suite for each subject, a case for each of its rules.
//
// Source: the schema of Apache Ant's JUnit task, as consumers have settled on it. What fails is a
// <failure>; what the baseline accepts is <skipped>; warnings and notes that do not fail are the
// output of a case that passed; what could not be checked is an <error>.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

std::string render_check_junit(const CheckReport& report, const CheckVerdict& verdict);

}  // namespace labelscope::cli
