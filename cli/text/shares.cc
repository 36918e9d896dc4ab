// Rounds numbers, with integers as far as the result must be exact.
#include "cli/text/shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// Counts times 1000 can pass 64 bits: hostile recordings may hold any count.
__extension__ using Wide = unsigned __int128;

std::uint64_t share(Wide part, Wide whole) {
  if (whole == 0 || part == 0) return 0;
  if (part >= whole) return 1000;
  const auto rounded = static_cast<std::uint64_t>((part * 1000 + whole / 2) / whole);
  return std::clamp<std::uint64_t>(rounded, 1, 999);
}

}  // namespace

std::vector<std::uint64_t> shares_of_1000(const std::vector<std::uint64_t>& counts) {
  Wide whole = 0;
  for (std::uint64_t count : counts) whole += count;
  std::vector<std::uint64_t> shares;
  shares.reserve(counts.size());
  for (std::uint64_t count : counts) shares.push_back(share(count, whole));
  return shares;
}

std::uint64_t share_of_1000(std::uint64_t part, std::uint64_t whole) { return share(part, whole); }

std::string percent_text(std::uint64_t of_1000) {
  return std::to_string(of_1000 / 10) + "." + std::to_string(of_1000 % 10) + "%";
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t share = share_of_1000(part, whole);
  if (share % 1000 == 0) return share == 0 ? "0%" : "100%";
  return percent_text(share);
}

std::string time_text(std::uint64_t ns) {
  auto value = static_cast<double>(ns);
  constexpr std::array<std::string_view, 4> kUnits{" ns", " us", " ms", " s"};
  std::size_t unit = 0;
  // A value of 999.5 would round to the four digits "1000".
  while (unit + 1 < kUnits.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return decimal(value, decimals) + std::string(kUnits[unit]);
}

std::string amount_text(std::uint64_t amount, std::string_view unit) {
  if (unit == "nanoseconds") return time_text(amount);
  if (unit != "bytes") return with_thousands(amount);
  constexpr std::array<std::string_view, 5> kUnits{" B", " KiB", " MiB", " GiB", " TiB"};
  auto value = static_cast<double>(amount);
  std::size_t step = 0;
  for (; step + 1 < kUnits.size() && value >= 999.5; ++step) value /= 1024;
  return decimal(value, step == 0 || value >= 99.95 ? 0
                        : value >= 9.995            ? 1
                                                    : 2) +
         std::string(kUnits[step]);
}

double samples_of_one_weight(std::uint64_t samples, bool of_waits) {
  // The mean of the period times that of its inverse is ln 3.
  constexpr double kDrawnPeriods = 1.0986122886681098;
  return static_cast<double>(samples) / (of_waits ? 1 : kDrawnPeriods);
}

void ShareError::add_whole(std::uint32_t account, std::uint64_t time_ns, std::uint64_t samples,
                           bool is_total) {
  Account& known = accounts_[account];
  const auto time = static_cast<double>(time_ns);
  known.time_ns += time;
  known.count += samples_of_one_weight(samples, is_total);
  if (samples != 0) known.squares += time * time / static_cast<double>(samples);
  known.is_total = is_total;
  whole_ns_ += time;
  totals_.reset();
}

namespace {

// The variance of a share that was estimated with one sample more than `samples`, which makes it
// smaller.
double variance_of(double share, double samples) {
  const double kept = 1 - samples / ((samples + 1) * (samples + 1));
  return share * (1 - share) / (samples * kept);
}

}  // namespace

// A part that has `whole_share` of the whole and no sample in this account has the share
// whole_share / (samples + 1) of it. Its variance has a part by that and one by its square.
ShareError::Divided ShareError::of_none(const Account& account) {
  const double samples = account.samples();
  if (!account.is_total || samples == 0) return {};
  const double more = samples + 1;
  const double scale =
      account.time_ns * account.time_ns / (samples * (1 - samples / (more * more)));
  return {scale / more, scale / (more * more)};
}

double ShareError::of(const std::map<std::uint32_t, std::uint64_t>& part,
                      bool divides_totals) const {
  if (whole_ns_ == 0) return 0;
  double part_ns = 0;
  for (const auto& [account, time_ns] : part) part_ns += static_cast<double>(time_ns);
  const double whole_share = std::min(1.0, part_ns / whole_ns_);
  double variance = 0;
  Divided others;  // totals of which the part has nothing
  if (divides_totals) {
    if (!totals_) {
      totals_.emplace();
      for (const auto& [number, account] : accounts_) {
        totals_->by_share += of_none(account).by_share;
        totals_->by_square += of_none(account).by_square;
      }
    }
    others = *totals_;
  }
  for (const auto& [number, time_ns] : part) {
    const auto known = accounts_.find(number);
    if (known == accounts_.end() || known->second.time_ns == 0) continue;
    const Account& whole = known->second;
    const double samples = whole.samples();
    if (samples == 0) continue;  // a total of waits: nothing in it was sampled
    const double share = std::min(1.0, static_cast<double>(time_ns) / whole.time_ns);
    const double square = whole.time_ns * whole.time_ns;
    if (!divides_totals || !whole.is_total) {
      variance += square * share * (1 - share) / samples;
      continue;
    }
    const Divided none = of_none(whole);
    others.by_share -= none.by_share;
    others.by_square -= none.by_square;
    variance += square * variance_of((samples * share + whole_share) / (samples + 1), samples);
  }
  variance +=
      std::max(0.0, others.by_share * whole_share - others.by_square * whole_share * whole_share);
  return std::sqrt(variance) / whole_ns_;
}

}  // namespace labelscope::cli
