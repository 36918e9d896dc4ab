// What a label's transform makes of a value, before anything is stored: a path without the query
// that may hold what is private, a word of a title, a statement without its numbers and texts.
#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "sources/preset/preset_compile.h"

namespace labelscope {
namespace {

// A character of a URL, which may be written as %3F, or as %253F for a second decoding.
struct UrlCharacter {
  char value = 0;
  std::size_t size = 1;  // as it is written
};

UrlCharacter url_character(std::string_view rest) {
  if (!rest.starts_with('%')) return {rest.front(), 1};
  std::size_t at = 1;
  while (rest.substr(at).starts_with("25")) at += 2;
  unsigned value = 0;
  const std::string_view digits = rest.substr(at, 2);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() < 2 || error != std::errc() || end != digits.data() + 2) return {'%', 1};
  return {static_cast<char>(value), at + 2};
}

bool has_at_sign(std::string_view text) {
  while (!text.empty()) {
    const UrlCharacter c = url_character(text);
    if (c.value == '@') return true;
    text.remove_prefix(c.size);
  }
  return false;
}

// Returns a URL without what is private, or different for each visitor: without the user and
// password before a host, without parameters and query.
//
//   http://user:pw@host/cart;jsessionid=1f/items?card=4111     ->   http://host/cart/items
//
// A part is what stands between two slashes. It ends where its parameters begin. If it may be a
// host, or has a colon, it begins behind its last @. Proxies have whole URLs in paths, so any part
// may be a host: the first one if no slash is before it, and each that stands behind two.
std::string path_of(std::string_view value) {
  std::string made;
  std::size_t part = 0;  // where the current part begins in `made`
  bool may_have_user = true;
  bool in_parameters = false;
  while (!value.empty()) {
    const UrlCharacter c = url_character(value);
    const std::string_view written = value.substr(0, c.size);
    value.remove_prefix(c.size);
    if (c.value == '?' || c.value == '#') {
      // It may be a part of a password, too: http://user:p%23w@host/.
      if (may_have_user && has_at_sign(value)) made.resize(part);
      break;
    }
    if (c.size == 1 && (c.value == '/' || c.value == '\\')) {
      may_have_user = made.size() == part && part != 0;
      in_parameters = false;
      made += written;
      part = made.size();
    } else if (c.value == '@' && may_have_user) {
      made.resize(part);
    } else {
      in_parameters |= c.value == ';';
      if (in_parameters) continue;
      may_have_user |= c.value == ':' || c.value == '/';
      made += written;
    }
  }
  return made;
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
      return path_of(value);
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
