// label_number.bpf.h: equal labels have one number, wherever they lie, and others another one.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "native/label_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr ls_label_key kKey = {{0x1234'5678'9abc'def0, 0x0fed'cba9'8765'4321}};
using Pairs = std::vector<std::pair<std::string, std::string>>;

std::uint64_t number_of(const Pairs& labels, Layout layout = Layout::kPacked,
                        const ls_label_key& secret = kKey) {
  LabelMemory made(layout);
  for (const auto& [key, value] : labels) made.add(key, value);
  made.publish();
  static_cast<void>(NativeReader(made.memory).observe_variable(kVariable));
  return native_label_number(secret);
}

using Words = std::array<__u64, 8>;

std::uint64_t number_of(const ls_label_key& key, const Words& words) {
  return native_number_of_words(key, words.data(), words.size());
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
  for (const int word : {0, 1}) {
    ls_label_key other = kKey;
    other.words[word] ^= 1;
    CHECK(number_of(sets[0], Layout::kPacked, other) != number_of(sets[0]));
  }
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
  CHECK(native_label_number(kKey) == LS_UNLABELLED);
}

TEST_CASE("label_number: a round is that of SipHash") {
  // This is the example of the paper (appendix A): SipHash-2-4 of the bytes 0 to 14 with the key of
  // the bytes 0 to 15. The last word has the length in its last byte.
  constexpr std::uint64_t kZero = 0x0706050403020100;
  constexpr std::uint64_t kOne = 0x0f0e0d0c0b0a0908;
  __u64 state[] = {kZero ^ 0x736f6d6570736575, kOne ^ 0x646f72616e646f6d,
                   kZero ^ 0x6c7967656e657261, kOne ^ 0x7465646279746573};
  for (const std::uint64_t word : {kZero, kOne}) {
    state[3] ^= word;
    for (int round = 0; round < 2; ++round) native_sip_round(state);
    state[0] ^= word;
  }
  state[2] ^= 0xff;
  for (int round = 0; round < 4; ++round) native_sip_round(state);
  CHECK((state[0] ^ state[1] ^ state[2] ^ state[3]) == 0xa129ca6149be45e5);
}

TEST_CASE("label_number: labels that cancelled each other's difference have different numbers") {
  const std::string value = "acme-corporation";
  const std::vector<std::vector<std::pair<std::size_t, int>>> differences{
      {{7, 0x80}, {12, 0x04}, {15, 0x80}},
      {{7, 0x40}, {12, 0x02}, {15, 0x40}},
      {{7, 0x80}, {15, 0x80}}};
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const ls_label_key key = {{random(), random()}};
    std::set<std::uint64_t> numbers{number_of({{"tenant", value}}, Layout::kPacked, key)};
    for (const auto& difference : differences) {
      std::string other = value;
      for (const auto& [at, bits] : difference) other[at] = static_cast<char>(other[at] ^ bits);
      numbers.insert(number_of({{"tenant", other}}, Layout::kPacked, key));
    }
    CHECK(numbers.size() == 1 + differences.size());
  }
}

// Chosen differences are of few bits in words beside each other: the second word takes back what
// the first one has changed.
TEST_CASE("label_number: no difference of few bits, and none at random, gives one number") {
  std::mt19937_64 random(2);
  std::uint64_t tried = 0;
  std::uint64_t equal = 0;
  ls_label_key key{};
  Words words{};
  const auto begin = [&] {
    key = {{random(), random()}};
    for (__u64& word : words) word = random();
    return number_of(key, words);
  };
  const auto bit = [](unsigned number) { return std::uint64_t{1} << number; };
  const auto hold = [&](std::uint64_t number, std::size_t at, std::uint64_t first,
                        std::uint64_t second, std::uint64_t third = 0) {
    Words other = words;
    other[at] ^= first;
    other[at + 1] ^= second;
    if (third != 0) other[at + 2] ^= third;
    ++tried;
    equal += number_of(key, other) == number;
  };
  for (std::size_t at = 0; at + 1 < words.size(); ++at) {
    const std::uint64_t number = begin();
    for (unsigned one = 0; one < 64; ++one) {
      hold(number, at, bit(one), 0);
      for (unsigned two = 0; two < 64; ++two) {
        // With two equal bits, it is one bit in each of two words.
        for (unsigned three = two; three < 64; ++three) {
          hold(number, at, bit(one), bit(two) | bit(three));
          if (at == 0) hold(number, at, bit(one), bit(two), bit(three));
        }
      }
    }
  }
  while (tried < 1'100'000) {
    const std::uint64_t number = begin();
    for (int i = 0; i < 1000; ++i) hold(number, random() % 7, random(), random());
  }
  CHECK(tried >= 1'000'000);
  CHECK(equal == 0);
}
