#include "cli/text/table_cells.h"

#include <algorithm>

#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

// Removes outermost brackets of this kind with their contents. Returns the name unchanged if such a
// bracket belongs to the name itself: "operator<", "<impl as Trait>", "main.(*S).Run",
// "ArrayList.<init>", "decltype(auto) f".
std::string without(const std::string& name, char open, char close) {
  std::string out;
  std::size_t depth = 0;
  for (const char c : name) {
    const bool opens = c == open;
    if (opens && depth == 0 &&
        (out.empty() || out.back() == '.' || out.back() == ':' || out.ends_with("operator") ||
         out.ends_with("decltype"))) {
      return name;
    }
    if (opens) ++depth;
    if (depth == 0) out += c;
    if (c == close && depth > 0) --depth;
  }
  return depth == 0 ? out : name;
}

std::string short_name(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t next = std::min(name.find(kAnonymous, at), name.size());
    out.append(name.substr(at, next - at));
    at = next == name.size() ? next : next + kAnonymous.size();
  }
  return without(without(out, '(', ')'), '<', '>');
}

}  // namespace

void ShortNames::add(const std::string& name) {
  const auto [entry, added] = short_.try_emplace(name, short_name(name));
  if (added) ++how_many_are_[entry->second];
}

const std::string& ShortNames::of(const std::string& name) const {
  const auto found = short_.find(name);
  if (found == short_.end() || how_many_are_.at(found->second) != 1) return name;
  return found->second;
}

std::string shown_value(std::string_view value) {
  if (value.empty()) return std::string(kEmptyText);
  if (value == kOtherValues) return std::string(value);
  std::string safe = escape_terminal(value);
  return safe.front() == '(' || safe.front() == ' ' ? '"' + safe + '"' : safe;
}

std::string cell(std::string_view text, std::size_t width, bool unicode) {
  const std::string_view dots = unicode ? "…" : "...";
  std::string out(text);
  if (count_columns(text) > width) {
    out = first_columns(text, width - count_columns(dots));
    out += dots;
  }
  out.append(width - std::min(width, count_columns(out)), ' ');
  return out;
}

std::string left(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, count_columns(text)), ' ');
}

std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, count_columns(text)), ' ') + std::string(text);
}

}  // namespace labelscope::cli
