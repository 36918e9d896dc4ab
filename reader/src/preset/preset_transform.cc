// What a label's transform makes of a value, before anything is stored: a path without the query
// that may hold what is private, a word of a title, a statement without its numbers and texts.
#include <algorithm>
#include <utility>

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

std::string text_of(const PresetTransform& transform) {
  using Kind = PresetTransform::Kind;
  switch (transform.kind) {
    case Kind::kPath:
      return "path";
    case Kind::kWord:
      return "word " + std::to_string(transform.word);
    case Kind::kAfter:
      return "after \"" + transform.after + "\"";
    case Kind::kFingerprint:
      return transform.dialect == SqlDialect::kMysql ? "fingerprint mysql" : "fingerprint";
    case Kind::kMap:
      break;
  }
  std::string text = "map";
  for (const auto& [value, name] : transform.map) {
    text.append(" ").append(value).append("=").append(name);
  }
  return text;
}

std::string apply(const PresetTransform& transform, std::string value) {
  using Kind = PresetTransform::Kind;
  switch (transform.kind) {
    case Kind::kPath:
      return path_of(std::move(value));
    case Kind::kWord:
      return word_of(value, transform.word);
    case Kind::kAfter:
      return part_after(value, transform.after);
    case Kind::kFingerprint:
      return statement_fingerprint(value, transform.dialect);
    case Kind::kMap:
      break;
  }
  const auto named =
      std::ranges::find(transform.map, value, [](const auto& pair) { return pair.first; });
  return named == transform.map.end() ? value : named->second;
}

}  // namespace

std::string transform_text(const DescribedLabel& label) {
  std::string text = label.unless_empty ? "unless \"\"" : "";
  for (const PresetTransform& transform : label.transforms) {
    text += (text.empty() ? "" : " ") + text_of(transform);
  }
  return text;
}

std::optional<std::string> transform_value(const DescribedLabel& label, std::string value) {
  using Kind = PresetTransform::Kind;
  bool is_cut = false;
  for (const PresetTransform& transform : label.transforms) {
    is_cut |= transform.kind == Kind::kWord || transform.kind == Kind::kAfter;
    value = apply(transform, std::move(value));
  }
  if (value.empty() && (label.unless_empty || is_cut)) return std::nullopt;
  return value;
}

}  // namespace labelscope
