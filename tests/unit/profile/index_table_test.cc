// The index of the profile's tables finds nothing twice, and loses nothing when it grows.
#include "cli/profile/index_table.h"

#include <vector>

#include "support/catch.h"

using labelscope::cli::Index;
using labelscope::cli::IndexTable;

namespace {

std::uint64_t spread(std::uint64_t number) { return number * 0x9E3779B97F4A7C15ULL; }

// Interns numbers, with a hash that the test chooses.
template <class Hash>
Index intern(IndexTable& table, std::vector<int>& numbers, int number, Hash hash) {
  const auto next = static_cast<Index>(numbers.size());
  const Index index = table.find_or_insert(
      hash(number), next, [&](Index known) { return numbers[known] == number; },
      [&](Index known) { return hash(numbers[known]); });
  if (index == next) numbers.push_back(number);
  return index;
}

}  // namespace

TEST_CASE("index_table: what was inserted is found again after any growth") {
  IndexTable table;
  std::vector<int> numbers;
  auto hash = [](int number) { return spread(static_cast<std::uint64_t>(number)); };
  constexpr int kNumbers = 100000;
  for (int number = 0; number < kNumbers; ++number) intern(table, numbers, number, hash);
  for (int number = 0; number < kNumbers; ++number) {
    REQUIRE(intern(table, numbers, number, hash) == static_cast<Index>(number));
  }
  CHECK(numbers.size() == kNumbers);
}

TEST_CASE("index_table: elements of equal hashes are kept apart") {
  IndexTable table;
  std::vector<int> numbers;
  auto same = [](int) { return std::uint64_t{7}; };
  for (int round = 0; round < 2; ++round) {
    for (int number = 0; number < 2000; ++number) {
      REQUIRE(intern(table, numbers, number, same) == static_cast<Index>(number));
    }
  }
}

TEST_CASE("index_table: indices may have gaps, and need more bits than there are slots") {
  constexpr Index kGap = 99991;
  IndexTable table;
  const auto intern = [&](Index number, Index next) {
    return table.find_or_insert(
        spread(number), next, [&](Index known) { return known == number * kGap; },
        [&](Index known) { return spread(known / kGap); });
  };
  for (Index number = 0; number < 1000; ++number) {
    REQUIRE(intern(number, number * kGap) == number * kGap);
  }
  for (Index number = 0; number < 1000; ++number) {
    REQUIRE(intern(number, 1000 * kGap) == number * kGap);
  }
}
