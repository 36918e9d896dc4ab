#include "writer/checked_labels.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace {

constexpr std::size_t kWordDigits = 16;
constexpr std::size_t kHead = 2 * kWordDigits;

// Any bijection that spreads bits would do (this one is splitmix64's).
std::uint64_t hash(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15U;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9U;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBU;
  return number ^ (number >> 31);
}

void write_hex(char* to, std::uint64_t number) {
  for (std::size_t i = kWordDigits; i-- > 0; number >>= 4) to[i] = "0123456789abcdef"[number & 15];
}

char filler(std::uint64_t number) { return static_cast<char>('a' + hash(number) % 26); }

std::size_t length(std::uint64_t number) {
  return kHead + hash(number) % (CheckedText::kMost - kHead + 1);
}

std::optional<std::uint64_t> parse(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> parse_checked(std::string_view text) {
  if (text.size() < kHead) return std::nullopt;
  const std::optional<std::uint64_t> number = parse(text.substr(0, kWordDigits), 16);
  if (!number || parse(text.substr(kWordDigits, kWordDigits), 16) != hash(*number))
    return std::nullopt;
  if (text.size() != length(*number)) return std::nullopt;
  const char expected = filler(*number);
  for (const char c : text.substr(kHead)) {
    if (c != expected) return std::nullopt;
  }
  return number;
}

}  // namespace

CheckedText::CheckedText(std::uint64_t number) : size_(length(number)) {
  write_hex(bytes_.data(), number);
  write_hex(bytes_.data() + kWordDigits, hash(number));
  std::memset(bytes_.data() + kHead, filler(number), size_ - kHead);
  bytes_[size_] = '\0';
}

void SetCheck::add(std::string_view key, std::string_view value) {
  static constexpr std::array<std::string_view, kKeys> kNames = {
      "g0", "g1", "g2", "scope", "set", "solo", "span-id", "root-span-id"};
  const auto name = std::find(kNames.begin(), kNames.end(), key);
  const auto index = static_cast<std::size_t>(name - kNames.begin());
  if (index == kKeys || numbers_[index]) {
    wrong_ = true;
    return;
  }
  numbers_[index] = index >= kSpan ? parse(value, 10) : parse_checked(value);
  if (!numbers_[index]) wrong_ = true;
}

bool SetCheck::passes(unsigned thread, std::uint64_t oldest, std::uint64_t newest) const {
  if (wrong_) return false;
  for (const auto& number : numbers_) {
    if (!number) continue;
    const std::uint64_t iteration = CheckedNumber::iteration(*number);
    if (CheckedNumber::thread(*number) != thread || iteration < oldest || iteration > newest)
      return false;
  }
  for (const Key key : {kG1, kG2}) {
    if (numbers_[key] != numbers_[kG0]) return false;
  }
  for (const Key key : {kScope, kSet}) {
    if (numbers_[key] && numbers_[key] != numbers_[kG0]) return false;
  }
  return numbers_[kSpan] == numbers_[kRoot];
}
