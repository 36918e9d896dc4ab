// Values below 8 have a bucket each. Above, the highest bit and the three bits after it determine
// the bucket.
#include "ptrace/stop_times.h"

#include <algorithm>
#include <bit>

namespace labelscope {

unsigned StopTimes::bucket_of(std::uint64_t ns) {
  if (ns < kSteps) return static_cast<unsigned>(ns);
  const unsigned power = static_cast<unsigned>(std::bit_width(ns)) - 1;
  const auto step = static_cast<unsigned>((ns >> (power - 3)) & (kSteps - 1));
  return std::min((power - 2) * kSteps + step, kBuckets - 1);
}

std::uint64_t StopTimes::end_of(unsigned bucket) {
  if (bucket < kSteps) return bucket;
  const unsigned power = bucket / kSteps + 2;
  const std::uint64_t step = bucket % kSteps;
  return ((kSteps + step + 1) << (power - 3)) - 1;
}

void StopTimes::add(std::chrono::nanoseconds time) {
  ++count_;
  ++buckets_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)))];
  longest_ = std::max(longest_, time);
}

std::chrono::nanoseconds StopTimes::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
  std::uint64_t seen = 0;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen > wanted || (seen == count_ && seen > 0)) {
      const auto end = std::chrono::nanoseconds(static_cast<std::int64_t>(end_of(bucket)));
      return std::min(end, longest_);
    }
  }
  return std::chrono::nanoseconds{0};
}

}  // namespace labelscope
