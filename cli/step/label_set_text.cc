#include "cli/step/label_set_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/format/escape.h"

namespace labelscope::cli {
namespace {

// A label set of the size that writers use fits; one that does not is recognized by its beginning.
constexpr std::size_t kMostCharacters = 300;
constexpr std::size_t kMostOfOneString = 60;
// What is shown of a value in front of the place where it differs.
constexpr std::size_t kShownOfEqualPart = 20;

// From byte `from` on. Quoted where it could be taken for something else.
std::string string_text(std::string_view bytes, std::size_t from) {
  // Escaping makes bytes longer, never shorter, so that more of them would not be shown anyway.
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

// Where values are shown from, by key; those that are not in it from their beginning.
using ValueStarts = std::map<std::string_view, std::size_t>;

struct SetText {
  std::string text;
  bool is_cut = false;
};

// `labels` are those of the set, in the order in which they are shown.
SetText set_text(const CheckedSet& set, const std::vector<const Label*>& labels,
                 const ValueStarts& starts) {
  if (set.state == CheckedSet::State::kNone) return {"(none)"};
  if (set.state == CheckedSet::State::kUnreadable) return {"(unreadable)"};
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

std::vector<const Label*> in_order(const CheckedSet& set) {
  std::vector<const Label*> labels;
  for (const Label& label : set.labels) labels.push_back(&label);
  return labels;
}

using Sets = std::array<const CheckedSet*, 3>;
using Counts = std::array<std::size_t, 3>;  // how often each of the sets has something

// Labels that not all sets have equally often.
std::map<Label, bool> differing(const Sets& sets) {
  std::map<Label, Counts> counts;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const Label& label : sets[i]->labels) ++counts[label][i];
  }
  std::map<Label, bool> differs;
  for (const auto& [label, count] : counts) {
    differs[label] = count[0] != count[1] || count[1] != count[2];
  }
  return differs;
}

std::vector<const Label*> differing_first(const CheckedSet& set,
                                          const std::map<Label, bool>& differs) {
  std::vector<const Label*> labels = in_order(set);
  std::stable_partition(labels.begin(), labels.end(),
                        [&](const Label* label) { return differs.at(*label); });
  return labels;
}

// Not in the middle of a character.
std::size_t start_of_character(std::string_view bytes, std::size_t at) {
  for (int i = 0; i < 3 && at > 0 && (static_cast<unsigned char>(bytes[at]) & 0xC0) == 0x80; ++i) {
    --at;
  }
  return at;
}

ValueStarts value_starts(const std::map<Label, bool>& differs) {
  std::map<std::string_view, std::string_view> equal;  // what all values of a key begin with
  for (const auto& [label, one_differs] : differs) {
    if (!one_differs) continue;
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

std::string label_set_text(const CheckedSet& set) { return set_text(set, in_order(set), {}).text; }

LabelSetTexts label_set_texts(const CheckedSet& before, const CheckedSet& seen,
                              const CheckedSet& after) {
  const Sets sets{&before, &seen, &after};
  std::array<SetText, 3> texts;
  bool is_cut = false;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    texts[i] = set_text(*sets[i], in_order(*sets[i]), {});
    is_cut |= texts[i].is_cut;
  }
  if (is_cut) {
    const std::map<Label, bool> differs = differing(sets);
    const ValueStarts starts = value_starts(differs);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      texts[i] = set_text(*sets[i], differing_first(*sets[i], differs), starts);
    }
  }
  return {std::move(texts[0].text), std::move(texts[1].text), std::move(texts[2].text)};
}

}  // namespace labelscope::cli
