#include "cli/check/label_set_text.h"

#include <string_view>

#include "cli/format/escape.h"

namespace labelscope::cli {
namespace {

// A label set of the size that writers use fits; one that does not is recognized by its beginning.
constexpr std::size_t kMostCharacters = 300;
constexpr std::size_t kMostOfOneString = 60;

// Quoted where it could be taken for something else.
std::string string_text(std::string_view bytes) {
  // Escaping makes bytes longer, never shorter, so that more of them would not be shown anyway.
  const std::string_view first = bytes.substr(0, 4 * kMostOfOneString);
  const bool plain = !needs_quotes(first) && first.find_first_of(",={}") == std::string::npos;
  std::string escaped = plain ? escape_terminal(first) : quote_terminal(first);
  if (!plain) escaped.pop_back();
  const std::string_view shown = first_characters(escaped, kMostOfOneString);
  std::string text(shown);
  if (shown.size() < escaped.size() || first.size() < bytes.size()) text += "...";
  if (!plain) text += '"';
  return text;
}

}  // namespace

std::string label_set_text(const CheckedSet& set) {
  if (set.state == CheckedSet::State::kNone) return "(none)";
  if (set.state == CheckedSet::State::kUnreadable) return "(unreadable)";
  std::string text = "{";
  std::size_t shown = 0;
  for (const Label& label : set.labels) {
    const std::string one = string_text(label.key) + "=" + string_text(label.value);
    if (shown > 0 && count_characters(text) + count_characters(one) > kMostCharacters) break;
    if (shown > 0) text += ", ";
    text += one;
    ++shown;
  }
  if (shown < set.labels.size()) {
    text += ", and " + std::to_string(set.labels.size() - shown) + " more";
  }
  return text + "}";
}

}  // namespace labelscope::cli
