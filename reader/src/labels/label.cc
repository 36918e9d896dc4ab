// This file names outcomes, and merges labels of several publishers into one set.
#include "labelscope/label.h"

#include <algorithm>
#include <iterator>

namespace labelscope {

namespace {

struct OutcomeWords {
  std::string_view name;
  std::string_view text;
};

// The index is the outcome's number.
constexpr OutcomeWords kOutcomes[] = {
    {"labelled", "labels were read"},
    {"unlabelled", "the thread has no labels"},
    {"no-recipe", "the label variable could not be located"},
    {"not-relocated", "the program was starting or loading a library"},
    {"no-thread-pointer", "the thread pointer could not be had"},
    {"bad-dtv", "the thread's DTV could not be read"},
    {"not-resident", "a page was not in memory or not mapped"},
    {"malformed", "the label set contradicts itself"},
    {"vanished", "the thread did not run again before the repeated read"},
    {"torn", "the thread was just writing its record"},
    {"no-keys", "the process does not publish the names of the keys"},
    {"lost", "they were on a line of the recording that was lost"},
    {"stale", "the values there are not those of what runs now"},
    {"unknown", "unknown outcome"},
};
static_assert(std::size(kOutcomes) == LS_OUTCOME_COUNT + 1);

}  // namespace

std::string_view outcome_name(unsigned outcome) {
  return kOutcomes[std::min<unsigned>(outcome, LS_OUTCOME_COUNT)].name;
}

std::string_view outcome_text(unsigned outcome) {
  return kOutcomes[std::min<unsigned>(outcome, LS_OUTCOME_COUNT)].text;
}

void keep_first_keys(LabelSet& labels, std::uint32_t& flags) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto end = labels.begin() + static_cast<std::ptrdiff_t>(kept);
    const bool seen = std::any_of(labels.begin(), end, [&](const Label& earlier) {
      return earlier.publisher == labels[i].publisher && earlier.key == labels[i].key;
    });
    if (seen) {
      flags |= LS_DUPLICATE_KEY;
      continue;
    }
    if (kept != i) labels[kept] = std::move(labels[i]);
    ++kept;
  }
  labels.resize(kept);
}

void merge_observation(Observation& total, Observation&& one, bool first) {
  if (first) {
    total = std::move(one);
    return;
  }
  std::uint32_t flags = total.flags | one.flags;
  bool any_unreadable = is_unreadable(total.outcome) || is_unreadable(one.outcome);
  if (total.outcome == LS_LABELLED || one.outcome == LS_LABELLED) {
    if (any_unreadable) flags |= LS_PARTLY_UNREADABLE;
    total.outcome = LS_LABELLED;
  } else if (any_unreadable && !is_unreadable(total.outcome)) {
    total.outcome = one.outcome;
  }
  if (total.outcome != LS_UNLABELLED) flags &= ~static_cast<std::uint32_t>(LS_WHY_UNLABELLED);
  for (Label& label : one.labels) {
    bool known = false;
    for (const Label& earlier : total.labels) {
      if (earlier.key != label.key) continue;
      if (earlier.value == label.value) {
        known = true;
      } else {
        flags |= LS_KEY_CONFLICT;
      }
    }
    if (!known) total.labels.push_back(std::move(label));
  }
  total.flags = flags;
}

}  // namespace labelscope
