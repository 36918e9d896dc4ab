// Tests which findings count, which ones a baseline accepts, and by what a finding is recognized.
#include "cli/check/verdict.h"

#include "cli/check/baseline.h"
#include "cli/check/formats.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"
#include "unit/check/report_maker.h"

namespace labelscope::test {
namespace {

using namespace cli;
using Outcome = CheckVerdict::Outcome;

CheckedSubject with(RuleId rule, const std::string& name = "lib.so") {
  return {name, {rule}, {diagnostic(rule, name, "so")}};
}

Outcome outcome_of(const CheckReport& report, bool strict) {
  return judge(report, strict, {}).outcome;
}

CheckReport report_of(std::vector<CheckedSubject> subjects) {
  CheckReport report;
  report.subjects = std::move(subjects);
  return report;
}

Baseline baseline_of(const CheckReport& report) {
  auto baseline = parse_baseline(render_check_json(report, judge(report, false, {}), "1.2.3"));
  if (!baseline) FAIL(baseline.error().context);
  return *std::move(baseline);
}

}  // namespace

TEST_CASE("verdict: errors fail, warnings only if strict, notes never") {
  CHECK(outcome_of(report_of({clean_file("a")}), true) == Outcome::kClean);
  CHECK(outcome_of(report_of({with(abi_v1::kVersionValue)}), false) == Outcome::kFindings);
  CHECK(outcome_of(report_of({with(abi_v1::kCurrentSetAligned)}), false) == Outcome::kClean);
  CHECK(outcome_of(report_of({with(abi_v1::kCurrentSetAligned)}), true) == Outcome::kFindings);
  CHECK(outcome_of(report_of({with(abi_v1::kKeysUnique)}), true) == Outcome::kClean);
}

TEST_CASE("verdict: what could not be checked is incomplete, and findings count for more") {
  CheckReport report;
  report.problems.push_back({"x", {ErrorCode::kNotFound, "is not there"}});
  CHECK(outcome_of(report, false) == Outcome::kIncomplete);
  report.subjects.push_back(clean_file("a"));
  CHECK(outcome_of(report, false) == Outcome::kIncomplete);
  report.subjects.push_back(with(abi_v1::kVersionValue));
  CHECK(outcome_of(report, false) == Outcome::kFindings);
}

TEST_CASE("verdict: what was not proven is a warning, and fails if strict, in every format") {
  CheckReport report = report_of({clean_file("a")});
  report.gaps.push_back({"unseen-updates", "2 changes"});
  const CheckVerdict lenient = judge(report, false, {});
  CHECK(lenient.outcome == Outcome::kClean);
  CHECK(lenient.warnings == 1);
  CHECK(verdict_line(report, lenient).find("1 warning") != std::string::npos);
  const CheckVerdict strict = judge(report, true, {});
  CHECK(strict.outcome == Outcome::kIncomplete);
  CHECK(verdict_line(report, strict).find("1 not proven") != std::string::npos);
  for (const CheckVerdict* verdict : {&lenient, &strict}) {
    CHECK(
        render_check_text(report, *verdict, false).find("not proven  unseen-updates: 2 changes") !=
        std::string::npos);
    CHECK(render_check_json(report, *verdict, "1").find("unseen-updates") != std::string::npos);
    CHECK(render_check_sarif(report, *verdict, "1").find("unseen-updates") != std::string::npos);
  }
  CHECK(render_check_github(report, lenient).starts_with("::warning title=not proven::"));
  CHECK(render_check_github(report, strict).starts_with("::error title=not proven::"));
  CHECK(render_check_junit(report, lenient).find("not proven") == std::string::npos);
  CHECK(render_check_junit(report, strict).find("type=\"not proven\"") != std::string::npos);
}

TEST_CASE("verdict: every diagnostic is in one number") {
  const CheckReport report =
      report_of({failing_file("a.so"), failing_process("process x"), clean_file("b")});
  const CheckVerdict verdict = judge(report, false, {});
  CHECK(verdict.errors == 2);
  CHECK(verdict.warnings == 1);
  CHECK(verdict.notes == 1);
  CHECK(verdict.accepted == 0);
  CHECK(verdict.rules == 7);
}

TEST_CASE("baseline: accepts what was found when it was written, and nothing else") {
  const CheckReport before = report_of({failing_file("a.so"), failing_process("process 7 (app)")});
  const Baseline baseline = baseline_of(before);
  CHECK(baseline.size() == 4);
  const CheckVerdict same = judge(before, true, baseline);
  CHECK(same.outcome == Outcome::kClean);
  CHECK(same.accepted == 4);
  CHECK(same.gone.empty());
  // The others are another file, another rule and another program.
  for (const CheckedSubject& other : {failing_file("b.so"), with(abi_v1::kVersionValue, "a.so"),
                                      failing_process("process web")}) {
    INFO(other.name);
    CHECK(judge(report_of({other}), false, baseline).outcome == Outcome::kFindings);
  }
}

TEST_CASE("baseline: shows what was not found again, where it was looked for") {
  const Baseline baseline = baseline_of(report_of({failing_file("a.so"), failing_file("b.so")}));
  CheckedSubject mended = failing_file("a.so");
  mended.diagnostics.pop_back();  // LS031
  const CheckReport report = report_of({mended});
  const CheckVerdict verdict = judge(report, false, baseline);
  REQUIRE(verdict.gone.size() == 1);
  CHECK(verdict.gone[0].rule == "LS031");
  CHECK(verdict.gone[0].subject == "a.so");
}

TEST_CASE("baseline: what is none says so") {
  for (
      const char* text :
      {"", "{", "[]", "{}", "null", R"({"format": "labelscope-check"})",
       R"({"format": "labelscope-check", "version": 2, "subjects": []})",
       R"({"format": "labelscope-inspect", "version": 1, "subjects": []})",
       R"({"format": "labelscope-check", "version": 1, "subjects": {}})",
       R"({"format": "labelscope-check", "version": 1, "subjects": [1]})",
       R"({"format": "labelscope-check", "version": 1, "subjects": [{"diagnostics": [7]}]})",
       R"({"format": "labelscope-check", "version": 1, "subjects": [{"diagnostics": [{"rule": 1}]}]})"}) {
    INFO(text);
    auto baseline = parse_baseline(text);
    REQUIRE_FALSE(baseline);
    CHECK(baseline.error().code == ErrorCode::kMalformed);
  }
  CHECK(parse_baseline(R"({"format": "labelscope-check", "version": 1, "subjects": []})"));
  // A recursive reader would not survive this depth.
  CHECK_FALSE(parse_baseline(std::string(1'000'000, '[')));
}

TEST_CASE("fingerprint: the same whatever changes from run to run, another for another finding") {
  const auto print = [](const CheckedSubject& subject) {
    return fingerprint(subject, subject.diagnostics.back());
  };
  const CheckedSubject process = failing_process("process 7 (app)");
  CHECK(print(process).size() == 16);
  CHECK(print(process) == print(failing_process("process 99 (app)")));
  CHECK(print(process) == print(failing_process("process app")));
  CHECK(print(process) != print(failing_process("process web")));
  CheckedSubject changed = process;
  Diagnostic& torn = changed.diagnostics.back();
  torn.subject = "thread 99 (other)";
  torn.places[0].function = "memmove";
  torn.places[1].address = 7;
  torn.places[1].line = 99;
  torn.set_seen = "{}";
  torn.count = 1;
  CHECK(print(process) == print(changed));
  torn.text += " of another key";
  CHECK(print(process) != print(changed));
  torn.text = process.diagnostics.back().text;
  CHECK(print(process) == print(changed));
  torn.places[1].function = "clear";
  CHECK(print(process) != print(changed));
  CHECK(print(failing_file("./build//x/../a.so")) == print(failing_file("build/a.so")));
  CHECK(print(failing_file("build/a.so")) != print(failing_file("other/a.so")));
}

}  // namespace labelscope::test
