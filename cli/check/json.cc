#include "cli/check/formats.h"
#include "cli/format/json_values.h"

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
  json["places"] = Json::array();
  for (const CodePlace& place : diagnostic.places) json["places"].push_back(place_json(place));
  json["author_place"] = diagnostic.places.empty() ? Json(nullptr) : Json(diagnostic.author_place);
  json["instruction"] = text_or_null(diagnostic.instruction);
  json["set_before"] = text_or_null(diagnostic.set_before);
  json["set_seen"] = text_or_null(diagnostic.set_seen);
  json["set_after"] = text_or_null(diagnostic.set_after);
  return json;
}

Json subject_json(const JudgedSubject& judged) {
  Json json{{"name", bytes_json(judged.subject->name)}};
  json["rules"] = Json::array();
  for (const RuleId rule : judged.subject->rules) json["rules"].push_back(rule_of(rule).code);
  json["diagnostics"] = Json::array();
  for (const JudgedDiagnostic& one : judged.diagnostics) {
    json["diagnostics"].push_back(diagnostic_json(one));
  }
  return json;
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

Json problems_json(const CheckReport& report) {
  Json problems = Json::array();
  for (const CheckProblem& problem : report.problems) {
    problems.push_back(Json{{"name", bytes_json(problem.name)},
                            {"error", error_name(problem.error.code)},
                            {"text", bytes_json(problem.error.context)}});
  }
  return problems;
}

Json gaps_json(const CheckReport& report) {
  Json gaps = Json::array();
  for (const CheckGap& gap : report.gaps) {
    gaps.push_back(Json{{"name", gap.name}, {"text", bytes_json(gap.text)}});
  }
  return gaps;
}

Json gone_json(const CheckVerdict& verdict) {
  Json gone = Json::array();
  for (const BaselineEntry& entry : verdict.gone) {
    gone.push_back(Json{{"rule", bytes_json(entry.rule)},
                        {"subject", bytes_json(entry.subject)},
                        {"fingerprint", bytes_json(entry.fingerprint)},
                        {"found", bytes_json(entry.found)}});
  }
  return gone;
}

}  // namespace

std::string render_check_json(const CheckReport& report, const CheckVerdict& verdict,
                              const char* version) {
  Json json{{"format", kCheckJsonFormat},   {"version", kCheckJsonVersion},
            {"labelscope", version},        {"verdict", outcome_name(verdict.outcome)},
            {"strict", verdict.strict},     {"errors", verdict.errors},
            {"warnings", verdict.warnings}, {"notes", verdict.notes},
            {"accepted", verdict.accepted}};
  json["subjects"] = Json::array();
  for (const JudgedSubject& subject : verdict.subjects) {
    json["subjects"].push_back(subject_json(subject));
  }
  json["problems"] = problems_json(report);
  json["gaps"] = gaps_json(report);
  json["gone"] = gone_json(verdict);
  json["effort"] = effort_json(report.effort);
  json["wait_status"] = report.wait_status ? Json(*report.wait_status) : Json(nullptr);
  json["remarks"] = Json::array();
  for (const std::string& remark : report.remarks) json["remarks"].push_back(bytes_json(remark));
  return json.dump(2) + "\n";
}

}  // namespace labelscope::cli
