#include "cli/check/verdict.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <set>

#include "cli/text/text.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

bool severity_fails(Severity severity, bool strict) {
  return severity == Severity::kError || (strict && severity == Severity::kWarning);
}

// Returns the counter that the diagnostic belongs to.
std::size_t& count_of(const JudgedDiagnostic& judged, CheckVerdict& verdict) {
  if (judged.accepted) return verdict.accepted;
  std::size_t* by_severity[] = {&verdict.notes, &verdict.warnings, &verdict.errors};
  return *by_severity[static_cast<std::size_t>(rule_of(judged.diagnostic->rule).severity)];
}

void add_part(std::string& text, std::size_t number, const char* one, const char* many) {
  if (number != 0) text += ", " + counted(number, one, many);
}

std::string speed(const CheckEffort& effort) {
  const double seconds = std::chrono::duration<double>(effort.stepping).count();
  if (seconds <= 0) return {};
  std::array<char, 80> text;
  std::snprintf(text.data(), text.size(), " in %.2f s (%.0f instructions per second)", seconds,
                static_cast<double>(effort.steps) / seconds);
  return text.data();
}

}  // namespace

CheckVerdict judge(const CheckReport& report, bool strict, const Baseline& baseline) {
  CheckVerdict verdict;
  verdict.strict = strict;
  std::set<std::string> known;
  for (const BaselineEntry& entry : baseline) known.insert(entry.fingerprint);
  std::set<std::string> found;
  std::set<std::pair<std::string, std::string>> looked_at;
  for (const CheckedSubject& subject : report.subjects) {
    JudgedSubject judged_subject{&subject, {}};
    const std::string key = subject_key(subject.name);
    for (const RuleId rule : subject.rules) looked_at.emplace(key, rule_of(rule).code);
    verdict.rules += subject.rules.size();
    for (const Diagnostic& diagnostic : subject.diagnostics) {
      JudgedDiagnostic judged{&diagnostic, fingerprint(subject, diagnostic)};
      judged.accepted = known.count(judged.fingerprint) != 0;
      found.insert(judged.fingerprint);
      judged.fails = !judged.accepted && severity_fails(rule_of(diagnostic.rule).severity, strict);
      if (judged.fails) verdict.outcome = CheckVerdict::Outcome::kFindings;
      ++count_of(judged, verdict);
      judged_subject.diagnostics.push_back(std::move(judged));
    }
    verdict.subjects.push_back(std::move(judged_subject));
  }
  for (const BaselineEntry& entry : baseline) {
    const bool asked = looked_at.count({entry.subject, entry.rule}) != 0;
    if (asked && found.count(entry.fingerprint) == 0) verdict.gone.push_back(entry);
  }
  if (!strict) verdict.warnings += report.gaps.size();
  const bool incomplete = !report.problems.empty() || (strict && !report.gaps.empty());
  if (verdict.outcome == CheckVerdict::Outcome::kClean && incomplete) {
    verdict.outcome = CheckVerdict::Outcome::kIncomplete;
  }
  return verdict;
}

const char* outcome_name(CheckVerdict::Outcome outcome) {
  const char* names[] = {"clean", "findings", "incomplete"};
  return names[static_cast<std::size_t>(outcome)];
}

std::string verdict_line(const CheckReport& report, const CheckVerdict& verdict) {
  std::string text = std::string(outcome_name(verdict.outcome)) + ": " +
                     counted(report.subjects.size(), "subject", "subjects") + ", " +
                     counted(verdict.rules, "rule", "rules") + " looked at";
  add_part(text, verdict.errors, "error", "errors");
  add_part(text, verdict.warnings, verdict.strict ? "warning (strict)" : "warning",
           verdict.strict ? "warnings (strict)" : "warnings");
  add_part(text, verdict.notes, "note", "notes");
  add_part(text, verdict.accepted, "finding accepted by the baseline",
           "findings accepted by the baseline");
  add_part(text, report.problems.size(), "not checked", "not checked");
  if (verdict.strict) add_part(text, report.gaps.size(), "not proven", "not proven");
  return text;
}

std::vector<std::string> effort_lines(const CheckEffort& effort) {
  std::vector<std::string> lines;
  if (effort.samples != 0) {
    lines.push_back(counted(effort.samples, "label set", "label sets") + " of " +
                    counted(effort.threads, "thread", "threads") + " read, " +
                    std::to_string(effort.labelled) + " of them with labels");
  }
  if (effort.steps != 0) {
    lines.push_back(counted(effort.updates, "update", "updates") + " stepped through: " +
                    counted(effort.steps, "instruction", "instructions") + speed(effort));
  }
  if (effort.unseen_updates != 0) {
    lines.push_back(counted(effort.unseen_updates, "update", "updates") +
                    " while a thread ran freely");
  }
  return lines;
}

}  // namespace labelscope::cli
