// label_number.bpf.h: equal labels have one number, wherever they lie, and others another one.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "native/label_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr std::uint64_t kSeed = 0x1234'5678'9abc'def0;
using Pairs = std::vector<std::pair<std::string, std::string>>;

std::uint64_t number_of(const Pairs& labels, Layout layout = Layout::kPacked,
                        std::uint64_t seed = kSeed) {
  LabelMemory made(layout);
  for (const auto& [key, value] : labels) made.add(key, value);
  made.publish();
  static_cast<void>(NativeReader(made.memory).observe_variable(kVariable));
  return native_label_number(seed);
}

}  // namespace

TEST_CASE("label_number: what lies between strings, and was there before, does not count") {
  const Pairs labels{{"tenant", "42"}, {"route", "/pay"}, {"exact", "eight---"}, {"empty", ""}};
  native_soil(0);
  const std::uint64_t number = number_of(labels);
  CHECK(number >= LS_FIRST_LABEL_NUMBER);
  native_soil(0xa5);
  CHECK(number_of(labels) == number);
  // Scattered strings are copied one by one; packed ones are read at once, with their gaps.
  CHECK(number_of(labels, Layout::kScattered) == number);
}

TEST_CASE("label_number: sets that differ in anything have different numbers") {
  const std::vector<Pairs> sets{
      {{"tenant", "42"}},
      {{"tenant", "43"}},
      {{"tenan", "t42"}},
      {{"tenant4", "2"}},
      {{"tenant", "42\0"}},
      {{"tenant", std::string("42\0", 3)}},
      {{"tenant", ""}},
      {{"tenant", "42"}, {"route", "/"}},
      {{"route", "/"}, {"tenant", "42"}},
      {{"tenant", "42"}, {"route", "/pay/for/something/longer/than/a/word"}},
      {{"tenant", "42"}, {"route", "/pay/for/something/longer/than/a/worm"}},
  };
  std::set<std::uint64_t> numbers;
  for (const Pairs& set : sets) numbers.insert(number_of(set));
  CHECK(numbers.size() == sets.size() - 1);  // two of them are written differently, and are equal
  CHECK(number_of(sets[0], Layout::kPacked, kSeed + 1) != number_of(sets[0]));
}

TEST_CASE("label_number: the largest set counts to its last byte") {
  Pairs large;
  for (int i = 0; i < LS_MAX_LABELS; ++i) {
    large.emplace_back("k" + std::to_string(100 + i), std::string(60, 'v'));
  }
  const std::uint64_t number = number_of(large);
  large.back().second.back() = 'w';
  CHECK(number_of(large) != number);
}

TEST_CASE("label_number: an observation without labels has the number of its outcome") {
  LabelMemory none;
  none.publish_set(0, 0);
  static_cast<void>(NativeReader(none.memory).observe_variable(kVariable));
  CHECK(native_label_number(kSeed) == LS_UNLABELLED);
}
