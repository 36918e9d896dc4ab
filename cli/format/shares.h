// Numbers as people read them: shares that add up, times with a fitting unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace labelscope::cli {

// Tenths of a per cent, by largest remainder: they add up to exactly 1000, unless all counts are 0.
std::vector<std::uint64_t> shares_of_1000(const std::vector<std::uint64_t>& counts);

// A part on its own. Rounded down, so that 100.0 % means every one; 0 if there is no whole.
std::uint64_t coverage_of_1000(std::uint64_t part, std::uint64_t whole);

// 987 -> "98.7%"
std::string percent_text(std::uint64_t of_1000);

// "950 ns", "12.3 us", "4.56 ms", "78.9 s": three digits, seconds as they are above that.
std::string time_text(std::uint64_t count, std::uint64_t period_ns);

}  // namespace labelscope::cli
