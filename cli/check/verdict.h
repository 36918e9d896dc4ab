// From what was found out to a verdict: what counts, what is accepted, what the exit status is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/check/baseline.h"
#include "cli/check/report.h"

namespace labelscope::cli {

struct JudgedDiagnostic {
  const Diagnostic* diagnostic = nullptr;
  std::string fingerprint;
  bool accepted = false;  // by the baseline
  bool fails = false;     // it is one of those for which the status is 1
};

struct JudgedSubject {
  const CheckedSubject* subject = nullptr;
  std::vector<JudgedDiagnostic> diagnostics;
};

struct CheckVerdict {
  enum class Outcome {
    kClean,
    kFindings,
    kIncomplete,  // none that fails, but something could not be checked, or (strict) not proven
  };
  Outcome outcome = Outcome::kClean;
  bool strict = false;
  std::vector<JudgedSubject> subjects;  // in the report's order
  // Diagnostics that are not accepted, by severity; and the accepted ones. Without --strict gaps
  // are warnings; with it they are failures of their own.
  std::size_t errors = 0, warnings = 0, notes = 0, accepted = 0;
  std::size_t rules = 0;  // looked at, in all subjects
  // Of the baseline, for subjects and rules that were looked at: what was not found again.
  std::vector<BaselineEntry> gone;
};

// The verdict points into the report.
CheckVerdict judge(const CheckReport& report, bool strict, const Baseline& baseline);

// A stable word: "clean", "findings", "incomplete".
const char* outcome_name(CheckVerdict::Outcome outcome);

// "clean: 2 files or processes, 21 rules, 1 note"
std::string verdict_line(const CheckReport& report, const CheckVerdict& verdict);
// How deep it went ("1000 label sets of 4 threads, 998 of them with labels"), a line each.
std::vector<std::string> effort_lines(const CheckEffort& effort);

}  // namespace labelscope::cli
