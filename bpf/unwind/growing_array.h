// GrowingArray is an array that BPF programs and user space share, and that takes memory only for
// the parts that are in use. A plain BPF array takes all of its memory when it is made, and what
// user space maps of it counts as labelscope's, too. Here the array is an outer map of inner ones:
//
//   outer map   [0] --> inner map: values 0 .. n - 1, mapped into this process
//               [1] --> inner map: values n .. 2n - 1
//               [2]     nothing yet
//
// A program finds value i in the inner map i / n, at place i % n (unwind.bpf.h). All inner maps
// have the same shape, because Linux 5.10 requires that of maps within a map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// The array as bytes.
class GrowingBytes {
 public:
  struct Shape {
    const char* name = nullptr;  // of each inner map
    std::uint32_t value_size = 0;
    std::uint32_t values = 0;  // of each inner map
  };

  GrowingBytes() = default;
  // `first`: the inner map that the outer one has already, or nothing.
  GrowingBytes(int outer_fd, const Shape& shape, UniqueFd first)
      : outer_fd_(outer_fd), shape_(shape), first_(std::move(first)) {}
  GrowingBytes(GrowingBytes&& other) noexcept { *this = std::move(other); }
  GrowingBytes& operator=(GrowingBytes&& other) noexcept;
  ~GrowingBytes();

  // Makes the parts up to this byte that are not there yet.
  Status reach(std::uint64_t end);
  std::size_t part_size() const { return std::size_t{shape_.value_size} * shape_.values; }
  // `at` is in a part that is there.
  std::byte* at(std::uint64_t at) { return parts_[at / part_size()].memory + at % part_size(); }

 private:
  struct Part {
    UniqueFd map;
    std::byte* memory;
  };
  Status add_part();

  int outer_fd_ = -1;
  Shape shape_;
  UniqueFd first_;
  std::vector<Part> parts_;
};

template <class T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(int outer_fd, const GrowingBytes::Shape& shape, UniqueFd first = {})
      : bytes_(outer_fd, shape, std::move(first)) {}

  // Fails if there is no memory for a part.
  Status store(std::uint64_t first, std::span<const T> values) {
    Status status = bytes_.reach((first + values.size()) * sizeof(T));
    if (!status) return status;
    while (!values.empty()) {
      const std::size_t left = bytes_.part_size() - first * sizeof(T) % bytes_.part_size();
      const std::size_t count = std::min(values.size(), left / sizeof(T));
      std::memcpy(bytes_.at(first * sizeof(T)), values.data(), count * sizeof(T));
      values = values.subspan(count);
      first += count;
    }
    return {};
  }
  // The value was stored before.
  T& operator[](std::uint64_t index) { return *reinterpret_cast<T*>(bytes_.at(index * sizeof(T))); }

 private:
  GrowingBytes bytes_;
};

}  // namespace labelscope
