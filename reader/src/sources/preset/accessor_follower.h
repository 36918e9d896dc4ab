// What following an accessor's code has in common for all processors. Of each register a Way is
// known: the way to its value from the argument, from a fixed address or from the thread pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/result.h"
#include "sources/preset/accessor.h"

namespace labelscope::accessor {

inline constexpr std::size_t kMostInstructions = 20;
inline constexpr std::size_t kMostLoads = 5;

// The value of a register: base + offsets[0], and for each other offset the word there + offset.
struct Way {
  enum class Base { kNumber, kArgument, kAddress, kThread };
  Base base{};
  std::vector<std::int64_t> offsets{0};
  unsigned size = 8;  // bytes of the last load

  bool is_pointer() const { return base != Base::kNumber || offsets.size() > 1; }
  std::int64_t& last() { return offsets.back(); }
};
using Register = std::optional<Way>;

inline Error refuse(std::string what) { return {ErrorCode::kUnsupported, std::move(what)}; }

inline std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// What both processors do alike.
class Follower {
 public:
  Follower(std::span<const std::byte> code, std::uint64_t address)
      : code_(code), address_(address) {}

 protected:
  template <class T>
  std::optional<T> peek(std::size_t at) const {
    if (at > code_.size() || code_.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, code_.data() + at, sizeof value);
    return value;
  }

  Status load(Register& to, const Register& from, std::int64_t offset, unsigned size) {
    if (!from) return refuse("it uses a register that it has not set");
    if (!from->is_pointer() || from->size != 8) return refuse("it follows a number as a pointer");
    Way way = *from;
    way.last() = sum(way.last(), offset);
    way.offsets.push_back(0);
    way.size = size;
    if (way.offsets.size() > kMostLoads) return refuse("it follows too many pointers");
    to = std::move(way);
    return {};
  }

  static Status add(Register& to, const Register& from, std::int64_t offset) {
    if (!from) return refuse("it uses a register that it has not set");
    if (from->size != 8) return refuse("it calculates with a number");
    Way way = *from;
    way.last() = sum(way.last(), offset);
    to = std::move(way);
    return {};
  }

  static Register address(std::uint64_t value) {
    return Way{Way::Base::kAddress, {static_cast<std::int64_t>(value)}};
  }

  static Result<Accessor> finish(const Register& result) {
    if (!result) return refuse("it returns nothing that it has read");
    if (!result->is_pointer()) return refuse("it returns a constant");
    Accessor made;
    made.base = result->base == Way::Base::kArgument  ? Accessor::Base::kArgument
                : result->base == Way::Base::kAddress ? Accessor::Base::kAddress
                                                      : Accessor::Base::kThread;
    made.offsets = result->offsets;
    made.size = result->size;
    // A load comes last, or else something was added to a pointer.
    made.returns_place = made.offsets.size() == 1 || made.offsets.back() != 0;
    if (!made.returns_place) made.offsets.pop_back();
    if (made.returns_place && made.size != 8) return refuse("it calculates with a number");
    return made;
  }

  std::span<const std::byte> code_;
  std::uint64_t address_;
  std::size_t at_ = 0;
};

// Follow the code of a whole accessor, as decode_accessor() does.
Result<Accessor> follow_x86(std::span<const std::byte> code, std::uint64_t address);
Result<Accessor> follow_arm(std::span<const std::byte> code, std::uint64_t address);

}  // namespace labelscope::accessor
