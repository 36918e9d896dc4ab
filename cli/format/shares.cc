// Rounding, in integers as far as it must be exact.
#include "cli/format/shares.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <string_view>

namespace labelscope::cli {
namespace {

// Counts times 1000 can pass 64 bits: hostile recordings may hold any count.
__extension__ using Wide = unsigned __int128;

}  // namespace

std::vector<std::uint64_t> shares_of_1000(const std::vector<std::uint64_t>& counts) {
  Wide whole = 0;
  for (std::uint64_t count : counts) whole += count;
  std::vector<std::uint64_t> shares(counts.size());
  if (whole == 0) return shares;

  std::vector<Wide> remainders(counts.size());
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Wide scaled = Wide{counts[i]} * 1000;
    shares[i] = static_cast<std::uint64_t>(scaled / whole);
    remainders[i] = scaled % whole;
    given += shares[i];
  }
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; given < 1000; ++i, ++given) ++shares[order[i]];
  return shares;
}

std::uint64_t coverage_of_1000(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<std::uint64_t>(Wide{part} * 1000 / whole);
}

std::string percent_text(std::uint64_t of_1000) {
  return std::to_string(of_1000 / 10) + "." + std::to_string(of_1000 % 10) + "%";
}

std::string time_text(std::uint64_t count, std::uint64_t period_ns) {
  double value = static_cast<double>(count) * static_cast<double>(period_ns);
  constexpr std::array<std::string_view, 4> kUnits{" ns", " us", " ms", " s"};
  std::size_t unit = 0;
  // 999.5 would round to the four digits "1000".
  while (unit + 1 < kUnits.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::array<char, 64> text;
  const int length = std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return std::string(text.data(), static_cast<std::size_t>(length)) + std::string(kUnits[unit]);
}

}  // namespace labelscope::cli
