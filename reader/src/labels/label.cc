// Names of outcomes, and how labels of several publishers become one set.
#include "labelscope/label.h"

#include <algorithm>

namespace labelscope {

std::string_view outcome_name(unsigned outcome) {
  switch (outcome) {
    case LS_LABELLED:
      return "labelled";
    case LS_UNLABELLED:
      return "unlabelled";
    case LS_UNREADABLE_NO_RECIPE:
      return "no-recipe";
    case LS_UNREADABLE_NOT_RELOCATED:
      return "not-relocated";
    case LS_UNREADABLE_NO_THREAD_POINTER:
      return "no-thread-pointer";
    case LS_UNREADABLE_BAD_DTV:
      return "bad-dtv";
    case LS_UNREADABLE_NOT_RESIDENT:
      return "not-resident";
    case LS_UNREADABLE_MALFORMED:
      return "malformed";
    case LS_UNREADABLE_VANISHED:
      return "vanished";
    case LS_UNREADABLE_TORN:
      return "torn";
    default:
      return "unknown";
  }
}

std::string_view outcome_text(unsigned outcome) {
  switch (outcome) {
    case LS_LABELLED:
      return "labels were read";
    case LS_UNLABELLED:
      return "the thread has no labels";
    case LS_UNREADABLE_NO_RECIPE:
      return "the label variable could not be located";
    case LS_UNREADABLE_NOT_RELOCATED:
      return "the library was not relocated yet";
    case LS_UNREADABLE_NO_THREAD_POINTER:
      return "the thread pointer could not be had";
    case LS_UNREADABLE_BAD_DTV:
      return "the thread's DTV could not be read";
    case LS_UNREADABLE_NOT_RESIDENT:
      return "a page was not in memory or not mapped";
    case LS_UNREADABLE_MALFORMED:
      return "the label set contradicts itself";
    case LS_UNREADABLE_VANISHED:
      return "the thread did not run again before the repeated read";
    case LS_UNREADABLE_TORN:
      return "the thread was just writing its record";
    default:
      return "unknown outcome";
  }
}

void keep_first_keys(LabelSet& labels, std::uint32_t& flags) {
  LabelSet kept;
  kept.reserve(labels.size());
  for (Label& label : labels) {
    bool seen = std::any_of(kept.begin(), kept.end(), [&](const Label& earlier) {
      return earlier.publisher == label.publisher && earlier.key == label.key;
    });
    if (seen) {
      flags |= LS_DUPLICATE_KEY;
    } else {
      kept.push_back(std::move(label));
    }
  }
  labels = std::move(kept);
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
  if (total.outcome != LS_UNLABELLED) flags &= ~static_cast<std::uint32_t>(LS_NEVER_TOUCHED);
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
