#include "cli/check/formats.h"
#include "cli/format/common/json_values.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : bytes_json(text);
}

Json place_json(const CodePlace& place) {
  return Json{{"module", text_or_null(place.module)},
              {"address", address_json(place.address)},
              {"function", text_or_null(place.function)},
              {"file", text_or_null(place.file)},
              {"line", place.line == 0 ? Json(nullptr) : Json(place.line)}};
}

Json diagnostic_json(const JudgedDiagnostic& judged) {
  const Diagnostic& diagnostic = *judged.diagnostic;
  const Rule& rule = rule_of(diagnostic.rule);
  Json json{{"rule", rule.code},
            {"name", rule.name},
            {"severity", severity_name(rule.severity)},
            {"fails", judged.fails},
            {"accepted", judged.accepted},
            {"fingerprint", judged.fingerprint},
            {"subject", bytes_json(diagnostic.subject)},
            {"found", bytes_json(diagnostic.text)},
            {"fix", text_or_null(diagnostic.fix)},
            {"count", diagnostic.count}};
  json["places"] = array_json(diagnostic.places, place_json);
  json["author_place"] = diagnostic.places.empty() ? Json(nullptr) : Json(diagnostic.author_place);
  json["instruction"] = text_or_null(diagnostic.instruction);
  json["set_before"] = text_or_null(diagnostic.set_before);
  json["set_seen"] = text_or_null(diagnostic.set_seen);
  json["set_after"] = text_or_null(diagnostic.set_after);
  return json;
}

Json subject_json(const JudgedSubject& judged) {
  return Json{
      {"name", bytes_json(judged.subject->name)},
      {"rules", array_json(judged.subject->rules, [](RuleId rule) { return rule_of(rule).code; })},
      {"diagnostics", array_json(judged.diagnostics, diagnostic_json)}};
}

Json effort_json(const CheckEffort& effort) {
  return Json{{"samples", effort.samples},
              {"labelled", effort.labelled},
              {"threads", effort.threads},
              {"steps", effort.steps},
              {"updates", effort.updates},
              {"unseen_updates", effort.unseen_updates},
              {"stepping_ns", effort.stepping.count()}};
}

Json problem_json(const CheckProblem& problem) {
  return Json{{"name", bytes_json(problem.name)},
              {"error", error_name(problem.error.code)},
              {"text", bytes_json(problem.error.context)}};
}

Json gap_json(const CheckGap& gap) {
  return Json{{"name", gap.name}, {"text", bytes_json(gap.text)}};
}

Json gone_json(const BaselineEntry& entry) {
  return Json{{"rule", bytes_json(entry.rule)},
              {"subject", bytes_json(entry.subject)},
              {"fingerprint", bytes_json(entry.fingerprint)},
              {"found", bytes_json(entry.found)}};
}

}  // namespace

std::string render_check_json(const CheckReport& report, const CheckVerdict& verdict,
                              const char* version) {
  const Json json{{"format", kCheckJsonFormat},
                  {"version", kCheckJsonVersion},
                  {"labelscope", version},
                  {"verdict", outcome_name(verdict.outcome)},
                  {"strict", verdict.strict},
                  {"errors", verdict.errors},
                  {"warnings", verdict.warnings},
                  {"notes", verdict.notes},
                  {"accepted", verdict.accepted},
                  {"subjects", array_json(verdict.subjects, subject_json)},
                  {"problems", array_json(report.problems, problem_json)},
                  {"gaps", array_json(report.gaps, gap_json)},
                  {"gone", array_json(verdict.gone, gone_json)},
                  {"effort", effort_json(report.effort)},
                  {"wait_status", report.wait_status ? Json(*report.wait_status) : Json(nullptr)},
                  {"remarks", array_json(report.remarks, bytes_json)}};
  return json_text(json, 2) + "\n";
}

}  // namespace labelscope::cli
