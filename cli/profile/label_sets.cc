#include "cli/profile/label_sets.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/profile/blame.h"
#include "cli/profile/index_table.h"
#include "cli/profile/merge.h"

namespace labelscope::cli {

void sort_labels(LabelSet& labels) {
  std::ranges::sort(labels, [](const Label& a, const Label& b) {
    return std::tie(a.key, a.publisher, a.value) < std::tie(b.key, b.publisher, b.value);
  });
}

void keep_labels(LabelSet& labels, std::span<const std::string> keys) {
  std::erase_if(labels, [&](const Label& label) {
    return std::ranges::find(keys, label.key) == keys.end();
  });
}

void change_label_sets(Profile& profile, const std::function<void(Index, LabelSet&)>& change) {
  std::vector<LabelSet> sets;
  std::vector<Index> renamed;
  IndexTable known_sets;
  for (LabelSet& labels : profile.label_sets) {
    change(static_cast<Index>(renamed.size()), labels);
    const auto next = static_cast<Index>(sets.size());
    renamed.push_back(known_sets.find_or_insert(labels, sets));
    if (renamed.back() == next) sets.push_back(std::move(labels));
  }
  profile.label_sets = std::move(sets);
  for (SampleRow& row : profile.rows) {
    if (row.label_set != kNoIndex) row.label_set = renamed[row.label_set];
  }
  for (WaitRow& row : profile.waits) {
    if (row.label_set != kNoIndex) row.label_set = renamed[row.label_set];
  }
  for (BlameRow& row : profile.blame) {
    for (Index* set : {&row.label_set, &row.by.label_set}) {
      if (*set != kNoIndex) *set = renamed[*set];
    }
  }
  merge_equal_rows(profile.rows);
  merge_equal_waits(profile.waits);
  merge_equal_blame(profile.blame);
}

}  // namespace labelscope::cli
