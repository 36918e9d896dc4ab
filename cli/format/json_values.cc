#include "cli/format/json_values.h"

#include <charconv>
#include <string>

#include "cli/format/base64.h"
#include "cli/format/escape.h"

namespace labelscope::cli {

nlohmann::ordered_json bytes_json(std::string_view bytes) {
  if (is_valid_utf8(bytes) && bytes.find('\0') == std::string_view::npos) {
    return nlohmann::ordered_json(bytes);
  }
  return nlohmann::ordered_json{{"base64", base64_encode(bytes)}};
}

nlohmann::ordered_json finding_json(const Finding& finding) {
  const bool of_rule = finding.rule != RuleId::kNone;
  return {{"code", finding_name(finding)},
          {"rule", of_rule ? nlohmann::ordered_json(rule_of(finding.rule).code) : nullptr},
          {"text", bytes_json(finding.text)},
          {"fix", bytes_json(finding.fix)}};
}

std::string_view error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kMalformed:
      return "malformed";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kLimit:
      return "limit";
    default:
      return "system";
  }
}

nlohmann::ordered_json address_json(std::uint64_t address) {
  char text[18] = {'0', 'x'};
  auto end = std::to_chars(text + 2, text + sizeof(text), address, 16);
  return nlohmann::ordered_json(std::string(text, end.ptr));
}

nlohmann::ordered_json module_fields(const ProfileModule& module) {
  const bool file = module.kind == ProfileModule::Kind::kFile;
  const bool kernel = module.kind == ProfileModule::Kind::kKernel;
  return {{"kind", file     ? "file"
                   : kernel ? "kernel"
                            : "unknown"},
          {"path", bytes_json(module.path)},
          {"build_id", bytes_json(module.build_id)},
          {"start", address_json(module.start)},
          {"end", address_json(module.end)},
          {"file_offset", address_json(module.file_offset)},
          {"load_bias", address_json(module.load_bias)},
          {"symbol_problem", bytes_json(module.symbol_problem)}};
}

nlohmann::ordered_json lines_json(const Location& location) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const SourceLine& line : location.lines) {
    lines.push_back({{"function", bytes_json(line.function)},
                     {"system_name", bytes_json(line.system_name)},
                     {"file", bytes_json(line.file)},
                     {"line", line.line}});
  }
  return lines;
}

}  // namespace labelscope::cli
