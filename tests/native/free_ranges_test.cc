// Ranges of an array that are given out and come back, compared with a list of the owner of each
// number.
#include "bpf/unwind/free_ranges.h"

#include <random>
#include <vector>

#include "support/catch.h"

using labelscope::FreeRanges;

TEST_CASE("free_ranges: ranges that come back in any order are one again") {
  FreeRanges ranges;
  ranges.add(10, 30);
  REQUIRE(ranges.take(10) == 10);
  REQUIRE(ranges.take(10) == 20);
  REQUIRE(ranges.take(10) == 30);
  REQUIRE_FALSE(ranges.take(1));
  const std::vector<std::uint64_t> order =
      GENERATE(std::vector<std::uint64_t>{10, 20, 30}, std::vector<std::uint64_t>{30, 20, 10},
               std::vector<std::uint64_t>{10, 30, 20}, std::vector<std::uint64_t>{20, 10, 30});
  for (const std::uint64_t first : order) {
    REQUIRE_FALSE(ranges.take(30));
    ranges.release(first, 10);
  }
  CHECK(ranges.take(30) == 10);
}

TEST_CASE("free_ranges: none has no numbers, and gives none back") {
  FreeRanges ranges;
  CHECK_FALSE(ranges.take(1));
  ranges.add(0, 5);
  CHECK_FALSE(ranges.take(0));
  ranges.release(5, 0);
  CHECK_FALSE(ranges.take(6));
  CHECK_FALSE(ranges.take(~std::uint64_t{0}));
  CHECK(ranges.take(5) == 0);
}

TEST_CASE("free_ranges: whatever is taken and given back, no number has two owners or is lost") {
  constexpr std::uint64_t kNumbers = 512;
  const std::uint64_t boundary = GENERATE(0U, 64U);
  FreeRanges ranges(boundary);
  ranges.add(0, kNumbers / 2);
  ranges.add(kNumbers / 2, kNumbers / 2);  // one range after the other, like maps of rows
  std::vector<bool> taken(kNumbers);
  struct Range {
    std::uint64_t first, count;
  };
  std::vector<Range> held;
  std::mt19937 random(4711);
  auto give_back = [&](std::size_t which) {
    for (std::uint64_t i = 0; i < held[which].count; ++i) taken[held[which].first + i] = false;
    ranges.release(held[which].first, held[which].count);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t count = 1 + random() % 40;
    if (const auto first = ranges.take(count)) {
      REQUIRE(*first + count <= kNumbers);
      if (boundary != 0) REQUIRE(*first / boundary == (*first + count - 1) / boundary);
      for (std::uint64_t i = 0; i < count; ++i) {
        REQUIRE_FALSE(taken[*first + i]);
        taken[*first + i] = true;
      }
      held.push_back({*first, count});
    } else {
      REQUIRE_FALSE(held.empty());
    }
    while (!held.empty() && random() % 2 == 0) give_back(random() % held.size());
  }
  while (!held.empty()) give_back(held.size() - 1);
  for (std::uint64_t at = 0; at < kNumbers; at += 64) REQUIRE(ranges.take(64) == at);
  CHECK_FALSE(ranges.take(1));
}
