#include "cli/check/baseline.h"
#include "cli/check/formats.h"
#include "cli/check/wording.h"
#include "cli/text/escape.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escape_xml(value) + "\"";
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  void operator+=(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
  }
};

std::string attributes(const std::string& name, const Counts& counts) {
  return attribute("name", name) + attribute("tests", std::to_string(counts.tests)) +
         attribute("failures", std::to_string(counts.failures)) +
         attribute("errors", std::to_string(counts.errors)) +
         attribute("skipped", std::to_string(counts.skipped)) + attribute("time", "0");
}

// All findings of one rule in one subject.
struct RuleFindings {
  std::string text;      // all findings, several lines
  std::string headline;  // the first of the most severe
  bool fails = false;
  bool accepted = false;  // the baseline accepts all of them
};

RuleFindings findings_of(const JudgedSubject& subject, RuleId rule) {
  RuleFindings all;
  for (const JudgedDiagnostic& one : subject.diagnostics) {
    if (one.diagnostic->rule != rule) continue;
    const std::string found = found_text(*one.diagnostic);
    if (all.headline.empty() || (one.fails && !all.fails)) all.headline = found;
    all.accepted = one.accepted && (all.text.empty() || all.accepted);
    all.fails |= one.fails;
    all.text += std::string(severity_name(rule_of(rule).severity)) + ": " + found + "\n";
    for (const std::string& line : detail_lines(*one.diagnostic)) all.text += "  " + line + "\n";
  }
  return all;
}

// `outcome` is an XML element; an empty one means that the case passed.
std::string test_case(const std::string& suite, const std::string& name,
                      const std::string& outcome) {
  const std::string head = "    <testcase" + attribute("classname", suite) +
                           attribute("name", name) + attribute("time", "0");
  if (outcome.empty()) return head + "/>\n";
  return head + ">\n      " + outcome + "\n    </testcase>\n";
}

std::string suite(const std::string& name, const Counts& counts, const std::string& cases,
                  Counts& all) {
  all += counts;
  return "  <testsuite" + attributes(name, counts) + ">\n" + cases + "  </testsuite>\n";
}

// Returns an element that reports what went wrong: in short in its attribute, and in full in its
// text.
std::string trouble(const std::string& element, const std::string& message, const char* type,
                    const std::string& text) {
  return "<" + element + attribute("message", message) + attribute("type", type) + ">" +
         escape_xml(text) + "</" + element + ">";
}

std::string rule_outcome(const RuleFindings& found, const Rule& rule, Counts& counts) {
  ++counts.tests;
  if (found.text.empty()) return {};
  if (found.fails) {
    ++counts.failures;
    return trouble("failure", found.headline, rule.code, found.text);
  }
  if (!found.accepted) return "<system-out>" + escape_xml(found.text) + "</system-out>";
  ++counts.skipped;
  return "<skipped" + attribute("message", "accepted by the baseline: " + found.headline) + "/>";
}

std::string rules_suite(const JudgedSubject& subject, Counts& all) {
  const std::string name = escape_terminal(lasting_name(subject.subject->name));
  Counts counts;
  std::string cases;
  for (const RuleId id : subject.subject->rules) {
    const Rule& rule = rule_of(id);
    cases += test_case(name, std::string(rule.code) + " " + rule.name,
                       rule_outcome(findings_of(subject, id), rule, counts));
  }
  return suite(name, counts, cases, all);
}

// A failure that no rule is about: a test case of its own, with an error.
std::string error_suite(const std::string& name, const std::string& why, const char* type,
                        Counts& all) {
  const std::string text = escape_terminal(why);
  return suite(name, {1, 0, 1, 0},
               test_case(name, "can be checked", trouble("error", text, type, text)), all);
}

}  // namespace

std::string render_check_junit(const CheckReport& report, const CheckVerdict& verdict) {
  Counts counts;
  std::string suites;
  for (const JudgedSubject& subject : verdict.subjects) suites += rules_suite(subject, counts);
  for (const CheckProblem& problem : report.problems) {
    const std::string name = escape_terminal(lasting_name(problem.name));
    suites += error_suite(name, problem.error.context, "not checked", counts);
  }
  if (verdict.strict) {
    for (const CheckGap& gap : report.gaps) {
      suites += error_suite(gap.name, gap.text, "not proven", counts);
    }
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
         attributes("labelscope check", counts) + ">\n" + suites + "</testsuites>\n";
}

}  // namespace labelscope::cli
