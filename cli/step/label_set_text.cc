#include "cli/step/label_set_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

// A label set of usual size fits. A larger one is recognized by its beginning.
constexpr std::size_t kMostCharacters = 300;
constexpr std::size_t kMostOfOneString = 60;
// So much of a value is shown in front of the place where it differs.
constexpr std::size_t kShownOfEqualPart = 20;

// Shows the bytes from `from` on. They are quoted if they could be taken for something else.
std::string string_text(std::string_view bytes, std::size_t from) {
  // Escaping makes bytes longer, never shorter, so more of them would not be shown anyway.
  const std::string_view first = bytes.substr(from, 4 * kMostOfOneString);
  const bool plain = !needs_quotes(first) && first.find_first_of(",={}") == std::string::npos;
  std::string escaped = plain ? escape_terminal(first) : quote_terminal(first);
  if (!plain) escaped.pop_back();
  const std::string_view shown = first_columns(escaped, kMostOfOneString);
  std::string text(from == 0 ? "" : "...");
  text += shown;
  if (shown.size() < escaped.size() || first.size() < bytes.size() - from) text += "...";
  if (!plain) text += '"';
  return text;
}

// The place from which each value is shown, by key. Values without an entry are shown from their
// beginning.
using ValueStarts = std::map<std::string_view, std::size_t>;

struct SetText {
  std::string text;
  bool is_cut = false;
};

// Writes labels that differ first.
SetText set_text(const CheckedSet& set, const std::set<Label>& differs, const ValueStarts& starts) {
  if (set.state == CheckedSet::State::kNone) return {"(none)"};
  if (set.state == CheckedSet::State::kUnreadable) return {"(unreadable)"};
  std::vector<const Label*> labels;
  for (const Label& label : set.labels) labels.push_back(&label);
  std::stable_partition(labels.begin(), labels.end(),
                        [&](const Label* label) { return differs.count(*label) != 0; });
  SetText made{"{"};
  std::size_t shown = 0;
  for (const Label* label : labels) {
    const auto start = starts.find(label->key);
    const std::size_t from =
        start == starts.end() ? 0 : std::min(start->second, label->value.size());
    const std::string value = string_text(label->value, from);
    made.is_cut |= label->value.size() > kMostOfOneString;
    const std::string one = string_text(label->key, 0) + "=" + value;
    if (shown > 0 && count_columns(made.text) + count_columns(one) > kMostCharacters) break;
    if (shown > 0) made.text += ", ";
    made.text += one;
    ++shown;
  }
  if (shown < labels.size()) {
    made.text += ", and " + std::to_string(labels.size() - shown) + " more";
    made.is_cut = true;
  }
  made.text += "}";
  return made;
}

using Sets = std::array<const CheckedSet*, 3>;

// Returns the labels that not all sets have.
std::set<Label> differing(const Sets& sets) {
  std::map<Label, std::size_t> counts;
  for (const CheckedSet* set : sets) {
    for (const Label& label : set->labels) ++counts[label];
  }
  std::set<Label> differs;
  for (const auto& [label, count] : counts) {
    if (count != sets.size()) differs.insert(label);
  }
  return differs;
}

// Moves the place back to the start of a character.
std::size_t start_of_character(std::string_view bytes, std::size_t at) {
  for (int i = 0; i < 3 && at > 0 && (static_cast<unsigned char>(bytes[at]) & 0xC0) == 0x80; ++i) {
    --at;
  }
  return at;
}

ValueStarts value_starts(const std::set<Label>& differs) {
  // the common beginning of all values of a key
  std::map<std::string_view, std::string_view> equal;
  for (const Label& label : differs) {
    const auto [entry, first] = equal.try_emplace(label.key, label.value);
    if (first) continue;
    const auto end = std::mismatch(entry->second.begin(), entry->second.end(), label.value.begin(),
                                   label.value.end());
    entry->second =
        entry->second.substr(0, static_cast<std::size_t>(end.first - entry->second.begin()));
  }
  ValueStarts starts;
  for (const auto& [key, part] : equal) {
    if (part.size() <= kMostOfOneString / 2) continue;
    starts[key] = start_of_character(part, part.size() - kShownOfEqualPart);
  }
  return starts;
}

}  // namespace

std::string label_set_text(const CheckedSet& set) { return set_text(set, {}, {}).text; }

LabelSetTexts label_set_texts(const CheckedSet& before, const CheckedSet& seen,
                              const CheckedSet& after) {
  const Sets sets{&before, &seen, &after};
  std::set<Label> differs;
  ValueStarts starts;
  if (std::ranges::any_of(sets, [](const auto* set) { return set_text(*set, {}, {}).is_cut; })) {
    differs = differing(sets);
    starts = value_starts(differs);
  }
  return {set_text(before, differs, starts).text, set_text(seen, differs, starts).text,
          set_text(after, differs, starts).text};
}

}  // namespace labelscope::cli
