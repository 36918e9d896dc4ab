// FreeRanges gives out ranges of the numbers of an array, first fit.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace labelscope {

class FreeRanges {
 public:
  // No range crosses a multiple of `boundary`, unless it is 0.
  explicit FreeRanges(std::uint64_t boundary = 0) : boundary_(boundary) {}

  void add(std::uint64_t first, std::uint64_t count) { release(first, count); }
  // Returns nullopt if no such range is free. A range of 0 numbers does not exist.
  std::optional<std::uint64_t> take(std::uint64_t count) {
    if (count == 0) return std::nullopt;
    for (auto& [first, size] : free_) {
      std::uint64_t at = first;
      if (boundary_ != 0 && at / boundary_ != (at + count - 1) / boundary_) {
        at = (at / boundary_ + 1) * boundary_;
      }
      if (at + count > first + size) continue;
      const std::uint64_t end = first + size;
      size = at - first;
      if (size == 0) free_.erase(first);
      if (at + count < end) free_[at + count] = end - at - count;
      return at;
    }
    return std::nullopt;
  }
  void release(std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    auto entry = free_.emplace(first, count).first;
    const auto next = std::next(entry);
    if (next != free_.end() && entry->first + entry->second == next->first) {
      entry->second += next->second;
      free_.erase(next);
    }
    if (entry == free_.begin()) return;
    const auto before = std::prev(entry);
    if (before->first + before->second == entry->first) {
      before->second += entry->second;
      free_.erase(entry);
    }
  }

 private:
  std::uint64_t boundary_;
  std::map<std::uint64_t, std::uint64_t> free_;  // first -> count
};

}  // namespace labelscope
