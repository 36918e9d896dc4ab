#include <string_view>

#include "cli/check/baseline.h"
#include "cli/check/formats.h"
#include "cli/check/wording.h"
#include "cli/format/escape.h"

namespace labelscope::cli {
namespace {

// Text that is safe for a terminal has no control characters. XML 1.0 forbids two more characters
// (section 2.2).
bool is_forbidden(std::string_view three_bytes) {
  return three_bytes == "\xEF\xBF\xBE" || three_bytes == "\xEF\xBF\xBF";
}

// Escapes attributes and text. Line ends stay, because only labelscope itself writes them.
std::string xml(std::string_view safe) {
  std::string out;
  out.reserve(safe.size());
  for (std::size_t i = 0; i < safe.size(); ++i) {
    switch (safe[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (is_forbidden(safe.substr(i, 3))) {
          i += 2;
          break;
        }
        out += safe[i];
    }
  }
  return out;
}

std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + xml(value) + "\"";
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

std::string test_case(const JudgedSubject& subject, const std::string& name, RuleId id,
                      Counts& counts) {
  const Rule& rule = rule_of(id);
  const RuleFindings found = findings_of(subject, id);
  ++counts.tests;
  std::string text = "    <testcase" + attribute("classname", name) +
                     attribute("name", std::string(rule.code) + " " + rule.name) +
                     attribute("time", "0");
  if (found.text.empty()) return text + "/>\n";
  text += ">\n";
  if (found.fails) {
    ++counts.failures;
    text += "      <failure" + attribute("message", found.headline) + attribute("type", rule.code) +
            ">" + xml(found.text) + "</failure>\n";
  } else if (found.accepted) {
    ++counts.skipped;
    text += "      <skipped" + attribute("message", "accepted by the baseline: " + found.headline) +
            "/>\n";
  } else {
    text += "      <system-out>" + xml(found.text) + "</system-out>\n";
  }
  return text + "    </testcase>\n";
}

std::string suite(const JudgedSubject& subject, Counts& all) {
  const std::string name = escape_terminal(lasting_name(subject.subject->name));
  Counts counts;
  std::string cases;
  for (const RuleId rule : subject.subject->rules) cases += test_case(subject, name, rule, counts);
  all += counts;
  return "  <testsuite" + attributes(name, counts) + ">\n" + cases + "  </testsuite>\n";
}

// A failure that has nothing to do with a rule: a test case of its own, with an error.
std::string error_suite(const std::string& name, const std::string& why, const char* kind,
                        Counts& all) {
  const Counts counts{1, 0, 1, 0};
  all += counts;
  return "  <testsuite" + attributes(name, counts) + ">\n    <testcase" +
         attribute("classname", name) + attribute("name", "can be checked") +
         attribute("time", "0") + ">\n      <error" + attribute("message", why) +
         attribute("type", kind) + ">" + xml(why) + "</error>\n    </testcase>\n  </testsuite>\n";
}

std::string problem_suite(const CheckProblem& problem, Counts& all) {
  return error_suite(escape_terminal(lasting_name(problem.name)),
                     escape_terminal(problem.error.context), "not checked", all);
}

}  // namespace

std::string render_check_junit(const CheckReport& report, const CheckVerdict& verdict) {
  Counts counts;
  std::string suites;
  for (const JudgedSubject& subject : verdict.subjects) suites += suite(subject, counts);
  for (const CheckProblem& problem : report.problems) suites += problem_suite(problem, counts);
  if (verdict.strict) {
    for (const CheckGap& gap : report.gaps) {
      suites += error_suite(gap.name, escape_terminal(gap.text), "not proven", counts);
    }
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
         attributes("labelscope check", counts) + ">\n" + suites + "</testsuites>\n";
}

}  // namespace labelscope::cli
