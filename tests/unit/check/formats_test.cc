// Tests reports with hostile text through each format: the output is valid for its consumers, and
// nothing of the text has a meaning there.
#include "cli/check/formats.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "findings/check_rule.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/check/report_maker.h"
#include "unit/format/run_program.h"

namespace labelscope::test {
namespace {

using namespace cli;

CheckReport hostile_report() {
  CheckReport report;
  report.subjects = {clean_file("lib/libcustomlabels.so"), failing_file("/opt/" + kHostile),
                     failing_process("process 7 (" + kHostile + ")")};
  report.problems.push_back({kHostile, {ErrorCode::kMalformed, "is " + kHostile}});
  report.remarks.push_back("mind " + kHostile);
  report.effort.samples = 10;
  report.effort.steps = 5;
  return report;
}

// Returns whether a terminal gets no control character but line ends.
bool is_tame(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; });
}

// Names the Python that has the modules of the distribution's packages, even if another one is
// first in PATH.
std::string python() {
  constexpr const char* kOfTheSystem = "/usr/bin/python3";
  return ::access(kOfTheSystem, X_OK) == 0 ? kOfTheSystem : require_program("python3");
}

// Runs a script of this folder with `text` as its input. Skips the test where Python or its module
// is missing.
std::string judged_by(const char* script, const std::string& text) {
  const auto result =
      run_program({python(), std::string(paths::kCheckScripts) + "/" + script}, text);
  if (result.exit_status == 77) skip_test(result.out);
  INFO(result.err);
  REQUIRE(result.exit_status == 0);
  return result.out;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::size_t count_lines(const std::string& text, const std::string& beginning) {
  std::size_t count = text.starts_with(beginning) ? 1 : 0;
  for (std::size_t at = 0; (at = text.find("\n" + beginning, at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("check text: findings below their subject, a verdict in the last line") {
  const CheckReport report = hostile_report();
  const std::string text = render_check_text(report, judge(report, false, {}), false);
  CHECK(is_tame(text));
  CHECK(text.find("lib/libcustomlabels.so: 2 rules looked at, all met\n") == 0);
  CHECK(text.find("  error LS031 library-tls-descriptor: it is a\\x0ab") != std::string::npos);
  CHECK(text.find("    at      memcpy (memcpy.S:7)\n") != std::string::npos);
  CHECK(text.find("(set labels.c:42)\n") != std::string::npos);
  CHECK(text.find("    code    mov %rax,(%rdx)\n") != std::string::npos);
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  CHECK(last ==
        "findings: 3 subjects, 7 rules looked at, 2 errors, 1 warning, 1 note, 1 not checked\n");
}

TEST_CASE("check text: colors are only there if they are asked for") {
  const CheckReport report = hostile_report();
  const std::string text = render_check_text(report, judge(report, false, {}), true);
  CHECK(text.find("\033[1;31merror LS031\033[0m") != std::string::npos);
  CHECK(text.find("\033[2J") == std::string::npos);
}

TEST_CASE("check json: holds everything, bytes that are no text as base64") {
  const CheckReport report = hostile_report();
  const auto json =
      nlohmann::json::parse(render_check_json(report, judge(report, true, {}), "1.2.3"));
  CHECK(json["format"] == "labelscope-check");
  CHECK(json["verdict"] == "findings");
  CHECK(json["errors"] == 2);
  REQUIRE(json["subjects"].size() == 3);
  const auto& file = json["subjects"][1];
  CHECK(file["rules"] == nlohmann::json({"LS001", "LS023", "LS031"}));
  CHECK(file["name"].contains("base64"));
  CHECK(file["diagnostics"][0]["fails"] == true);  // a warning, in strict mode
  const auto& torn = json["subjects"][2]["diagnostics"][1];
  CHECK(torn["rule"] == "LS050");
  CHECK(torn["count"] == 3);
  CHECK(torn["places"][1]["line"] == 42);
  CHECK(torn["author_place"] == 1);
  CHECK(file["diagnostics"][0]["author_place"].is_null());
  CHECK(torn["places"][2]["file"].is_null());
  CHECK(torn["set_before"] == "{a=1}");
  CHECK(json["problems"][0]["error"] == "malformed");
  CHECK(json["effort"]["samples"] == 10);
}

TEST_CASE("check junit: junitparser reads it, and finds each case as it was judged") {
  CheckReport report = hostile_report();
  const std::string loose =
      judged_by("read_junit.py", render_check_junit(report, judge(report, false, {})));
  CHECK(has_line(loose, "lib/libcustomlabels.so|LS001 platform|passed"));
  CHECK(loose.find("|LS031 library-tls-descriptor|failure\n") != std::string::npos);
  CHECK(loose.find("|LS023 current-set-aligned|passed\n") != std::string::npos);
  CHECK(loose.find("|can be checked|error\n") != std::string::npos);
  CHECK(loose.find("|LS050 torn-update|failure\n") != std::string::npos);
  // A case is followed from run to run by its name, so the name has no process ID.
  CHECK(loose.find("\nprocess a\\x0ab") != std::string::npos);
  CHECK(std::count(loose.begin(), loose.end(), '\n') == 8);
  const std::string strict =
      judged_by("read_junit.py", render_check_junit(report, judge(report, true, {})));
  CHECK(strict.find("|LS023 current-set-aligned|failure\n") != std::string::npos);
  auto known = parse_baseline(render_check_json(report, judge(report, false, {}), "1.2.3"));
  REQUIRE(known);
  // A baseline keeps only the escaped form of a name that is no UTF-8, so this part uses a plain
  // name.
  report.subjects[1] = failing_file("a.so");
  known = parse_baseline(render_check_json(report, judge(report, false, {}), "1.2.3"));
  REQUIRE(known);
  const std::string accepted =
      judged_by("read_junit.py", render_check_junit(report, judge(report, true, *known)));
  CHECK(has_line(accepted, "a.so|LS031 library-tls-descriptor|skipped"));
  CHECK(accepted.find("failure") == std::string::npos);
}

TEST_CASE("check sarif: fulfils the schema, and leads to the line") {
  const CheckReport report = hostile_report();
  const std::string text = render_check_sarif(report, judge(report, false, {}), "1.2.3");
  const std::string results = judged_by("validate_sarif.py", text);
  CHECK(has_line(results, "LS050 error src/set%20labels.c 42 -"));
  CHECK(has_line(results, "LS045 note file:///opt/program%20of%20mine 1 -"));
  CHECK(count_lines(results, "LS031 error file:///opt/a%0Ab%0D%22%3C%26%3E%27%1B") == 1);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["runs"][0]["tool"]["driver"]["rules"].size() == all_rules().size());
  CHECK(json["runs"][0]["invocations"][0]["executionSuccessful"] == false);
}

TEST_CASE("check sarif: a process whose publisher is not known has a place as well") {
  CheckReport report;
  report.subjects = {failing_process("process 7 (a b)")};
  report.subjects.front().publisher.clear();
  const std::string results =
      judged_by("validate_sarif.py", render_check_sarif(report, judge(report, false, {}), "1.2.3"));
  CHECK(has_line(results, "LS045 note process%20a%20b 1 -"));
}

TEST_CASE("check sarif: what the baseline accepts is suppressed") {
  CheckReport report;
  report.subjects = {failing_file("a.so")};
  const auto known = parse_baseline(render_check_json(report, judge(report, false, {}), "1.2.3"));
  REQUIRE(known);
  const CheckVerdict verdict = judge(report, false, *known);
  const std::string results =
      judged_by("validate_sarif.py", render_check_sarif(report, verdict, "1.2.3"));
  CHECK(results == "LS023 warning a.so 1 suppressed\nLS031 error a.so 1 suppressed\n");
}

TEST_CASE("check github: a line for each finding, and no command but ours") {
  const CheckReport report = hostile_report();
  const std::string text = render_check_github(report, judge(report, false, {}));
  CHECK(is_tame(text));
  CHECK(count_lines(text, "::error ") == 3);
  CHECK(count_lines(text, "::warning ") == 1);
  CHECK(count_lines(text, "::notice ") == 1);
  CHECK(count_lines(text, "::") == 5);
  CHECK(text.find("::error title=LS050 torn-update,file=src/set labels.c,line=42::") !=
        std::string::npos);
  // In a property a comma or a colon would end the value, and a percent sign would begin an escape.
  CHECK(text.find("[2J\\xff%25%2C%3A") != std::string::npos);
  const std::string strict = render_check_github(report, judge(report, true, {}));
  CHECK(count_lines(strict, "::error ") == 4);
}

}  // namespace labelscope::test
