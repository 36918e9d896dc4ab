// Writes values as JSON, each kind in one way.
#include "cli/format/common/json_values.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/format/common/row_labels.h"
#include "cli/text/escape.h"
#include "findings/check_rule.h"

namespace labelscope::cli {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

// Whether the text is JSON at all, the parser decides.
JsonShape json_shape(std::string_view text) {
  JsonShape shape{.values = 1};
  std::array<std::size_t, 64> fields{};  // by level
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
        break;
      case '[':
      case '{':
        ++shape.values;
        shape.depth = std::max(shape.depth, ++depth);
        if (depth < fields.size()) fields[depth] = 0;
        break;
      case ']':
      case '}':
        depth -= depth == 0 ? 0 : 1;
        break;
      case ',':
        ++shape.values;
        break;
      case ':':
        if (depth < fields.size()) shape.fields = std::max(shape.fields, ++fields[depth]);
        break;
      default:
        break;
    }
  }
  return shape;
}

// Three bytes become four characters.
std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool present = i + k < bytes.size();
      group = group << 8 | (present ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      // One byte becomes two characters, two become three; the rest is padding.
      const bool present = k < 2 || i + k - 1 < bytes.size();
      out += present ? kAlphabet[group >> (18 - 6 * k) & 0x3F] : '=';
    }
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(padding);
  std::string out;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kAlphabet.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    // Each of the four characters but the first one completes a byte.
    if (i % 4 != 0) out += static_cast<char>(group >> (6 - i % 4 * 2) & 0xFF);
  }
  return out;
}

std::string json_text(const Json& value, int indentation) {
  return value.dump(indentation, ' ', /*ensure_ascii=*/true);
}

Json bytes_json(std::string_view bytes) {
  if (is_utf8(bytes) && bytes.find('\0') == std::string_view::npos) {
    return Json(bytes);
  }
  return Json{{"base64", base64_encode(bytes)}};
}

Json finding_json(const Finding& finding) {
  const bool of_rule = finding.rule != RuleId::kNone;
  return {{"code", finding_name(finding)},
          {"rule", of_rule ? Json(rule_of(finding.rule).code) : nullptr},
          {"text", bytes_json(finding.text)},
          {"fix", bytes_json(finding.fix)}};
}

std::string_view error_name(ErrorCode code) {
  constexpr std::pair<ErrorCode, std::string_view> kNames[] = {
      {ErrorCode::kNotFound, "not-found"},
      {ErrorCode::kPermission, "permission"},
      {ErrorCode::kMalformed, "malformed"},
      {ErrorCode::kUnsupported, "unsupported"},
      {ErrorCode::kLimit, "limit"}};
  for (const auto& [known, name] : kNames) {
    if (known == code) return name;
  }
  return "system";
}

Json address_json(std::uint64_t address) { return hex(address); }

Json index_json(Index index) { return index == kNoIndex ? Json(nullptr) : Json(index); }

Json flags_json(unsigned flags) {
  Json names = Json::array();
  for (unsigned bit = 0; flags >> bit != 0; ++bit) {
    if ((flags >> bit & 1U) != 0) names.push_back(sample_flag_name(bit));
  }
  return names;
}

Json label_json(const Label& label) {
  return {{"key", bytes_json(label.key)},
          {"value", bytes_json(label.value)},
          {"publisher", label.publisher}};
}

Json attributes_json(const Attributes& attributes) {
  return array_json(attributes, [](const auto& attribute) {
    return Json{{"key", bytes_json(attribute.first)}, {"value", bytes_json(attribute.second)}};
  });
}

Json module_fields(const ProfileModule& module) {
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

Json lines_json(const Location& location) {
  return array_json(location.lines, [](const SourceLine& line) {
    return Json{{"function", bytes_json(line.function)},
                {"system_name", bytes_json(line.system_name)},
                {"file", bytes_json(line.file)},
                {"line", line.line}};
  });
}

}  // namespace labelscope::cli
