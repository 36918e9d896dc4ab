// docs/schema/doctor-json.md describes the JSON.
#include <algorithm>

#include "cli/doctor/checkup.h"
#include "cli/format/common/json_values.h"
#include "cli/text/table_cells.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kNames[] = {"fine", "limited", "MISSING"};
constexpr std::string_view kColors[] = {kGreen, kYellow, kRed};

}  // namespace

CheckupVerdict Checkup::worst() const {
  CheckupVerdict worst = CheckupVerdict::kFine;
  for (const CheckupLine& line : lines) worst = std::max(worst, line.verdict);
  return worst;
}

std::string render_checkup(const Checkup& checkup, bool color) {
  std::size_t widest = 0;
  for (const CheckupLine& line : checkup.lines) widest = std::max(widest, line.name.size());
  std::string text;
  Pid about{};
  for (const CheckupLine& line : checkup.lines) {
    if (line.pid != about) text += "process " + std::to_string(raw(line.pid)) + "\n";
    about = line.pid;
    const auto verdict = static_cast<std::size_t>(line.verdict);
    constexpr std::size_t kVerdictWidth = 8;
    text += paint(color, kColors[verdict], left(kNames[verdict], kVerdictWidth)) +
            left(line.name, widest + 2) + line.found + "\n";
    if (!line.fix.empty()) text += left("", kVerdictWidth + widest + 2) + "fix: " + line.fix + "\n";
  }
  return text;
}

std::string render_checkup_json(const Checkup& checkup, const std::string& version) {
  Json checks = Json::array();
  for (const CheckupLine& line : checkup.lines) {
    const std::string_view verdict = line.verdict == CheckupVerdict::kFine      ? "fine"
                                     : line.verdict == CheckupVerdict::kLimited ? "limited"
                                                                                : "missing";
    checks.push_back({{"pid", raw(line.pid) == 0 ? Json(nullptr) : Json(raw(line.pid))},
                      {"name", line.name},
                      {"verdict", verdict},
                      {"found", bytes_json(line.found)},
                      {"fix", line.fix.empty() ? Json(nullptr) : bytes_json(line.fix)}});
  }
  const Json json{{"format", "labelscope-doctor"},
                  {"version", 1},
                  {"labelscope", version},
                  {"whole", checkup.worst() == CheckupVerdict::kFine},
                  {"checks", std::move(checks)}};
  return json_text(json) + "\n";
}

}  // namespace labelscope::cli
