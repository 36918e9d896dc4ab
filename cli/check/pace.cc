#include "cli/check/pace.h"

#include <algorithm>
#include <cmath>

namespace labelscope::cli {
namespace {

using std::chrono::nanoseconds;

// A thread is to run much longer than it is stopped.
constexpr nanoseconds kShortest = std::chrono::microseconds{100};
constexpr nanoseconds kLongest = std::chrono::seconds{1};

}  // namespace

Pace::Pace(Kind kind, std::uint64_t samples, nanoseconds span) : kind_(kind) {
  const double count = static_cast<double>(std::max<std::uint64_t>(samples, 1));
  const double whole = static_cast<double>(std::max(span, 2 * kShortest).count());
  // From kShortest to `span` in `count` steps, each longer than the last by the same part.
  per_sample_ = kind == Kind::kEven
                    ? whole / count
                    : std::expm1(std::log(whole / static_cast<double>(kShortest.count())) / count);
}

nanoseconds Pace::pause(nanoseconds elapsed, std::uint64_t taken) {
  const double base = kind_ == Kind::kEven ? 1.0 : static_cast<double>(elapsed.count());
  const double mean = per_sample_ * base * static_cast<double>(std::max<std::uint64_t>(taken, 1));
  const double chosen = mean * std::uniform_real_distribution<double>(0.5, 1.5)(random_);
  const double most = static_cast<double>(kLongest.count());
  return std::clamp(nanoseconds(static_cast<std::int64_t>(std::min(chosen, most))), kShortest,
                    kLongest);
}

}  // namespace labelscope::cli
