// StopTimes keeps how long threads were held, as a histogram, because a recording has millions of
// stops.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace labelscope {

class StopTimes {
 public:
  void add(std::chrono::nanoseconds time);
  std::uint64_t count() const { return count_; }
  std::chrono::nanoseconds longest() const { return longest_; }
  // Returns the time that this share of all stops did not exceed, to within an eighth.
  std::chrono::nanoseconds quantile(double share) const;

 private:
  // There are 8 buckets for each power of two of nanoseconds, so 61 * 8 hold everything.
  static constexpr unsigned kSteps = 8;
  static constexpr unsigned kBuckets = 62 * kSteps;
  static unsigned bucket_of(std::uint64_t ns);
  static std::uint64_t end_of(unsigned bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds longest_{0};
};

}  // namespace labelscope
