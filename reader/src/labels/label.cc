// Names of outcomes, and the rule that the first of equal keys counts.
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

}  // namespace labelscope
