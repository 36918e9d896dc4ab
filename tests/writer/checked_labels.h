// Label sets that check themselves: any set that a stressed thread publishes passes, and a mixture
// of two of them, a torn value or another thread's set does not.
//
// Every value is a number, its hash, and filler of a length that depends on the number: 32 to 231
// bytes. A number names the thread, the iteration and the set within it. The labels of a set:
//
//   g0 g1 g2                 always together, with one number
//   scope, set               within a scope, or in an installed set: with the number of g0
//   solo                     with a number of its own
//   span-id, root-span-id    decimal, with one number of their own
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// A number as text. It is zero-terminated, so that any writer can take it.
class CheckedText {
 public:
  static constexpr std::size_t kMost = 231;
  explicit CheckedText(std::uint64_t number);
  std::string_view view() const { return {bytes_.data(), size_}; }
  const char* c_str() const { return bytes_.data(); }

 private:
  std::array<char, kMost + 1> bytes_;
  std::size_t size_;
};

struct CheckedNumber {
  static constexpr std::uint64_t kSets = 16;  // within one iteration
  static std::uint64_t make(unsigned thread, std::uint64_t iteration, unsigned set) {
    return static_cast<std::uint64_t>(thread) << 56 | iteration * kSets | set;
  }
  static unsigned thread(std::uint64_t number) { return static_cast<unsigned>(number >> 56); }
  static std::uint64_t iteration(std::uint64_t number) { return (number << 8 >> 8) / kSets; }
};

// Checks one set, label by label. It allocates nothing, so that signal handlers can use it, too.
class SetCheck {
 public:
  void add(std::string_view key, std::string_view value);
  // Returns true if this is a set that the thread published in these iterations, both included.
  bool passes(unsigned thread, std::uint64_t oldest, std::uint64_t newest) const;

 private:
  enum Key { kG0, kG1, kG2, kScope, kSet, kSolo, kSpan, kRoot, kKeys };
  std::array<std::optional<std::uint64_t>, kKeys> numbers_;
  bool wrong_ = false;
};
