#include <algorithm>

#include "cli/check/baseline.h"
#include "cli/check/formats.h"
#include "cli/check/wording.h"
#include "cli/format/common/json_values.h"
#include "cli/text/escape.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";
// The name of our fingerprint, with its version. Collectors find the same result again by it
// (section 3.27.17).
constexpr const char* kFingerprintName = "labelscopeFinding/v1";

Json message(const std::string& text) { return Json{{"text", text}}; }

Json rule_json(const Rule& rule) {
  return Json{{"id", rule.code},
              {"name", rule.name},
              {"shortDescription", message(rule.title)},
              {"fullDescription", message(std::string(rule.requirement) + " " + rule.reason)},
              {"help", message(explain_rule(rule))},
              {"defaultConfiguration", Json{{"level", severity_name(rule.severity)}}},
              {"properties", Json{{"section", rule.section}, {"depth", depth_name(rule.depth)}}}};
}

Json physical_location(const std::string& file, std::uint32_t line) {
  Json location{{"artifactLocation", Json{{"uri", source_uri(file)}}}};
  if (line != 0) location["region"] = Json{{"startLine", line}};
  return location;
}

// SARIF wants a file. If the finding has none, the name of the process takes its place.
std::string file_of(const CheckedSubject& subject, const std::string& shown) {
  if (!shown.empty()) return shown;
  return subject.publisher.empty() ? lasting_name(subject.name) : subject.publisher;
}

// Every result gets a file and a line: GitHub refuses the whole log if one lacks them.
Json location_json(const CheckedSubject& subject, const Diagnostic& diagnostic) {
  Json location;
  const std::string file = shown_file(subject, diagnostic);
  const CodePlace* source = source_place(diagnostic);
  location["physicalLocation"] =
      physical_location(file_of(subject, file), source == nullptr ? 1 : source->line);
  if (source != nullptr && !source->function.empty()) {
    location["logicalLocations"] = Json::array(
        {Json{{"fullyQualifiedName", escape_terminal(source->function)}, {"kind", "function"}}});
  } else if (file.empty()) {
    location["logicalLocations"] = Json::array({Json{
        {"fullyQualifiedName", escape_terminal(lasting_name(subject.name))}, {"kind", "process"}}});
  }
  return location;
}

Json frame_json(const CodePlace& place) {
  Json location{{"message", message(place_text(place))}};
  const std::string& file = place.file.empty() ? place.module : place.file;
  if (!file.empty()) {
    location["physicalLocation"] = physical_location(file, place.file.empty() ? 0 : place.line);
  }
  return Json{{"location", std::move(location)}};
}

Json result_json(const CheckedSubject& subject, const JudgedDiagnostic& judged) {
  const Diagnostic& diagnostic = *judged.diagnostic;
  const Rule& rule = rule_of(diagnostic.rule);
  std::string text = std::string(rule.title) + "; but: " + found_text(diagnostic);
  for (const std::string& line : detail_lines(diagnostic)) text += "\n" + line;
  Json result{{"ruleId", rule.code},
              {"ruleIndex", &rule - all_rules().data()},
              {"level", severity_name(rule.severity)},
              {"message", message(text)},
              {"locations", Json::array({location_json(subject, diagnostic)})},
              {"partialFingerprints", Json{{kFingerprintName, judged.fingerprint}}},
              {"occurrenceCount", std::max<std::uint64_t>(diagnostic.count, 1)}};
  if (!diagnostic.places.empty()) {
    result["stacks"] = Json::array({Json{{"message", message("where a reader would see it")},
                                         {"frames", array_json(diagnostic.places, frame_json)}}});
  }
  if (judged.accepted) {
    result["suppressions"] =
        Json::array({Json{{"kind", "external"}, {"justification", "accepted by the baseline"}}});
  }
  return result;
}

Json invocation_json(const CheckReport& report) {
  Json notifications = Json::array();
  const auto notify = [&](const char* level, const std::string& text) {
    notifications.push_back(Json{{"level", level}, {"message", message(text)}});
  };
  for (const CheckProblem& problem : report.problems) notify("error", problem_text(problem));
  for (const CheckGap& gap : report.gaps) notify("warning", gap_text(gap));
  for (const std::string& remark : report.remarks) notify("note", escape_terminal(remark));
  return Json{{"executionSuccessful", report.problems.empty()},
              {"toolExecutionNotifications", std::move(notifications)}};
}

}  // namespace

std::string render_check_sarif(const CheckReport& report, const CheckVerdict& verdict,
                               const char* version) {
  const Json driver{{"name", "labelscope"},
                    {"semanticVersion", version},
                    {"rules", array_json(all_rules(), rule_json)}};
  Json results = Json::array();
  for (const JudgedSubject& subject : verdict.subjects) {
    for (const JudgedDiagnostic& one : subject.diagnostics) {
      results.push_back(result_json(*subject.subject, one));
    }
  }
  Json run{{"tool", Json{{"driver", driver}}},
           {"invocations", Json::array({invocation_json(report)})},
           {"results", std::move(results)}};
  const Json log{
      {"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return json_text(log, 2) + "\n";
}

}  // namespace labelscope::cli
