// How long single waits were, from the numbers of waits by length that the kernel has counted
// (sample_kind.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/common/row_labels.h"
#include "cli/profile/idle.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

class WaitLengths {
 public:
  void add(const WaitRow& row);
  void add(const WaitLengths& other);
  std::uint64_t count() const { return count_; }
  // Returns the length that this part of the waits (0.5: half of them) does not exceed; 0 without
  // waits. It lies within the right bucket, so it is wrong by less than a factor of 2.
  std::uint64_t quantile(double part) const;

 private:
  std::uint64_t count_ = 0;
  std::array<std::uint64_t, LS_WAIT_BUCKETS> lengths_{};
};

// Lengths of waits by the values of a key, and by value type (Profile::values).
class WaitsOfKey {
 public:
  // `without`, if it is not null, has the waits that do not count.
  WaitsOfKey(const Profile& profile, const RowLabels& labels, std::string_view key,
             const IdleRows* without = nullptr);

  // Returns null if there are none: the key is of samples, and not of labels, or no waits were
  // counted.
  const std::vector<WaitLengths>* of(const std::string& value) const;
  bool empty() const { return by_value_.empty(); }

 private:
  std::map<std::string, std::vector<WaitLengths>> by_value_;
};

}  // namespace labelscope::cli
