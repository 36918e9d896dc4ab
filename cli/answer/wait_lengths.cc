#include "cli/answer/wait_lengths.h"

#include <algorithm>
#include <cmath>

namespace labelscope::cli {

void WaitLengths::add(const WaitRow& row) {
  count_ += row.count;
  for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += row.lengths[i];
}

void WaitLengths::add(const WaitLengths& other) {
  count_ += other.count_;
  for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += other.lengths_[i];
}

std::uint64_t WaitLengths::quantile(double part) const {
  std::uint64_t all = 0;
  for (const std::uint64_t waits : lengths_) all += waits;
  const double wanted = part * static_cast<double>(all);
  double below = 0;
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    const auto here = static_cast<double>(lengths_[i]);
    if (here == 0 || below + here < wanted) {
      below += here;
      continue;
    }
    const double power = static_cast<double>(i) + LS_WAIT_SHORTEST_LOG2 + (wanted - below) / here;
    return static_cast<std::uint64_t>(std::exp2(power));
  }
  return 0;
}

WaitsOfKey::WaitsOfKey(const Profile& profile, const RowLabels& labels, std::string_view key,
                       const IdleRows* without) {
  if (is_key_of_samples(key)) return;
  for (const WaitRow& waits : profile.waits) {
    if (without != nullptr && without->contains(waits)) continue;
    const std::optional<std::string> value = labels.value(labels.stand_in(waits), key);
    if (!value) continue;
    std::vector<WaitLengths>& lengths = by_value_[*value];
    lengths.resize(profile.values.size());
    lengths[waits.value].add(waits);
  }
}

const std::vector<WaitLengths>* WaitsOfKey::of(const std::string& value) const {
  const auto found = by_value_.find(value);
  return found == by_value_.end() ? nullptr : &found->second;
}

}  // namespace labelscope::cli
