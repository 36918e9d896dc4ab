// Makes a verdict of a report: what counts, what is accepted, what the exit status is.
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
  bool accepted = false;  // accepted by the baseline
  bool fails = false;     // makes the status 1
};

struct JudgedSubject {
  const CheckedSubject* subject = nullptr;
  std::vector<JudgedDiagnostic> diagnostics;
};

struct CheckVerdict {
  enum class Outcome {
    kClean,
    kFindings,
    kIncomplete,  // nothing fails, but something could not be checked or (strict) not proven
  };
  Outcome outcome = Outcome::kClean;
  bool strict = false;
  std::vector<JudgedSubject> subjects;  // in the report's order
  // Diagnostics that are not accepted, by severity; and the accepted ones. Without --strict, gaps
  // are warnings; with it, they are failures of their own kind.
  std::size_t errors = 0, warnings = 0, notes = 0, accepted = 0;
  std::size_t rules = 0;  // checked rules in all subjects
  // Entries of the baseline that were not found again, among subjects and rules that were checked.
  std::vector<BaselineEntry> gone;
};

// The verdict points into the report, which must outlive it.
CheckVerdict judge(const CheckReport& report, bool strict, const Baseline& baseline);

// Returns the stable word for it: "clean", "findings", "incomplete".
const char* outcome_name(CheckVerdict::Outcome outcome);

// "clean: 2 files or processes, 21 rules, 1 note"
std::string verdict_line(const CheckReport& report, const CheckVerdict& verdict);
// Returns how much was checked ("1000 label sets of 4 threads, 998 of them with labels"), a line
// each.
std::vector<std::string> effort_lines(const CheckEffort& effort);

}  // namespace labelscope::cli
