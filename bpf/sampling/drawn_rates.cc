#include "bpf/sampling/drawn_rates.h"

#include <algorithm>

namespace labelscope {
namespace {

// An event keeps its rate for so many samples on average, and for this time at least. More frequent
// changes would lose more. Fewer changes would leave a short recording with too few rates.
constexpr double kSamplesPerRate = 20;
constexpr std::chrono::duration<double> kShortestRate = std::chrono::milliseconds(20);
// ln 3: the mean of 1 / x for x between 0.5 and 1.5.
constexpr double kMeanOfInverse = 1.0986122886681098;

}  // namespace

std::vector<double> DrawnRates::draw(Clock::time_point now, std::span<const std::uint64_t> fired,
                                     std::size_t events) {
  std::uniform_real_distribution<double> about_one(0.5, 1.5);
  const auto keep =
      std::max(kShortestRate, std::chrono::duration<double>(kSamplesPerRate / options_.mean_hz));
  next_ = now + std::chrono::duration_cast<Clock::duration>(keep * about_one(random_));
  const double samples = keep.count() * options_.mean_hz;
  // Each change loses half a sample.
  const double mean_hz = options_.mean_hz * (1 + 0.5 / samples);
  const bool is_first = due_.empty();
  due_.resize(events);
  std::vector<double> rates(events);
  for (std::size_t i = 0; i < events; ++i) {
    const bool is_known = i < fired.size();
    if (options_.counts_cycles && !is_first && (!is_known || fired[i] < due_[i])) continue;
    const double part = 1 / (kMeanOfInverse * about_one(random_));
    rates[i] = mean_hz * part;
    // More samples at a higher rate: otherwise lower rates would last longer.
    due_[i] =
        (is_known ? fired[i] : 0) + static_cast<std::uint64_t>(samples * part * about_one(random_));
    if (options_.counts_cycles && options_.highest_hz != 0)
      rates[i] = std::min(rates[i], options_.highest_hz);
  }
  return rates;
}

}  // namespace labelscope
