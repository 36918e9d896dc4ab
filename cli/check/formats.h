// Renders a checked report as text, JSON, JUnit, SARIF or annotations. Each format has a file of
// its name.
#pragma once

#include <string>

#include "cli/check/verdict.h"

namespace labelscope::cli {

// Returns the output of check for people: findings by subject, and a verdict in the last line.
std::string render_check_text(const CheckReport& report, const CheckVerdict& verdict, bool color);

// The output of check for programs: docs/schema/check-json.md has every field. A baseline is such a
// file, too.
inline constexpr const char* kCheckJsonFormat = "labelscope-check";
// This changes when a field gets another meaning or goes away, not when one is added.
inline constexpr int kCheckJsonVersion = 1;

// One JSON object, indented, with a newline at its end. `version` is labelscope's.
std::string render_check_json(const CheckReport& report, const CheckVerdict& verdict,
                              const char* version);

// JUnit's XML, as CI systems read it: a suite for each subject, a case for each of its rules.
//
// Source: the schema of Apache Ant's JUnit task, in the form that consumers accept. What fails is a
// <failure>; what the baseline accepts is <skipped>; warnings and notes that do not fail are the
// output of a case that passed; what could not be checked is an <error>.
std::string render_check_junit(const CheckReport& report, const CheckVerdict& verdict);

// SARIF 2.1.0, for GitHub's code scanning and other collectors of static analysis.
//
// Source: OASIS Static Analysis Results Interchange Format (SARIF) Version 2.1.0. All rules are in
// tool.driver.rules, whether they were looked at or not, so that a rule's index does not change
// within one version of labelscope.
//
// One JSON object, indented, with a newline at its end. `version` is labelscope's.
std::string render_check_sarif(const CheckReport& report, const CheckVerdict& verdict,
                               const char* version);

// Annotations for GitHub's workflows: lines that the runner takes for commands. Findings that the
// baseline accepts are left out; a note becomes a "notice".
//
// Source: GitHub's documentation, "Workflow commands"; escapes as in the toolkit's command.ts.
//
// A line for each finding and each problem, and the verdict in the last one.
std::string render_check_github(const CheckReport& report, const CheckVerdict& verdict);

}  // namespace labelscope::cli
