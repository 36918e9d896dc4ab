#include "cli/format/json_values.h"

#include "cli/format/escape.h"
#include "labelscope/text.h"

namespace labelscope::cli {

// Three bytes to four characters.
std::string base64_encode(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool present = i + k < bytes.size();
      group = group << 8 | (present ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      // One byte makes two characters, two make three; the rest is padding.
      const bool present = k < 2 || i + k - 1 < bytes.size();
      out += present ? kAlphabet[group >> (18 - 6 * k) & 0x3F] : '=';
    }
  }
  return out;
}

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
  return nlohmann::ordered_json(hex(address));
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
