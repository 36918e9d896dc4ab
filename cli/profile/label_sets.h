// This changes the label sets of a whole profile, and keeps it as small as it can be: sets that
// become equal are one, and so are rows and waits that then differ in nothing.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// The labels are a set. Their order means nothing, except among publishers that share a key; so
// they have one order, in which equal sets are equal.
void sort_labels(LabelSet& labels);
// Leaves out all labels with other keys.
void keep_labels(LabelSet& labels, std::span<const std::string> keys);

// Hands each label set to `change`, with its index.
void change_label_sets(Profile& profile, const std::function<void(Index, LabelSet&)>& change);

}  // namespace labelscope::cli
