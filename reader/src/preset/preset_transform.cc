// What a label's transform makes of a value, before anything is stored: a path without the query
// that may hold what is private, a word of a title, a statement without its numbers and texts.
#include <algorithm>

#include "preset/preset_compile.h"

namespace labelscope {
namespace {

std::string path_of(std::string value) {
  value.resize(std::min(value.find_first_of("?#"), value.size()));
  return value;
}

std::string word_of(const std::string& value, unsigned number) {
  std::size_t at = 0;
  for (unsigned word = 1;; ++word) {
    at = value.find_first_not_of(" \t", at);
    if (at == std::string::npos) return {};
    const std::size_t end = std::min(value.find_first_of(" \t", at), value.size());
    if (word == number) return value.substr(at, end - at);
    at = end;
  }
}

std::string part_after(const std::string& value, const std::string& text) {
  const std::size_t at = value.find(text);
  return at == std::string::npos ? std::string() : value.substr(at + text.size());
}

}  // namespace

std::string transform_text(const DescribedLabel& label) {
  using Kind = PresetTransform::Kind;
  const PresetTransform& transform = label.transform;
  std::string text = label.unless_empty ? "unless \"\" " : "";
  switch (transform.kind) {
    case Kind::kNone:
      break;
    case Kind::kPath:
      text += "path ";
      break;
    case Kind::kWord:
      text += "word " + std::to_string(transform.word) + " ";
      break;
    case Kind::kAfter:
      text += "after \"" + transform.after + "\" ";
      break;
    case Kind::kFingerprint:
      text += transform.dialect == SqlDialect::kMysql ? "fingerprint mysql " : "fingerprint ";
      break;
    case Kind::kMap:
      text += "map ";
      for (const auto& [value, name] : transform.map) {
        text.append(value).append("=").append(name).append(" ");
      }
      break;
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::optional<std::string> transform_value(const DescribedLabel& label, std::string value) {
  using Kind = PresetTransform::Kind;
  const PresetTransform& transform = label.transform;
  switch (transform.kind) {
    case Kind::kNone:
      break;
    case Kind::kPath:
      value = path_of(std::move(value));
      break;
    case Kind::kWord:
      value = word_of(value, transform.word);
      break;
    case Kind::kAfter:
      value = part_after(value, transform.after);
      break;
    case Kind::kFingerprint:
      value = statement_fingerprint(value, transform.dialect);
      break;
    case Kind::kMap: {
      const auto named =
          std::ranges::find(transform.map, value, [](const auto& pair) { return pair.first; });
      if (named != transform.map.end()) value = named->second;
      break;
    }
  }
  const bool cut = transform.kind == Kind::kWord || transform.kind == Kind::kAfter;
  if (value.empty() && (label.unless_empty || cut)) return std::nullopt;
  return value;
}

}  // namespace labelscope
