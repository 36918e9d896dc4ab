// Records of the ring buffer that are taken later, in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace labelscope {

class KeptRecords {
 public:
  void keep(std::span<const std::byte> record) {
    const std::size_t at = words_.size();
    words_.resize(at + (record.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memcpy(&words_[at], record.data(), record.size());
    sizes_.push_back(record.size());
  }
  bool empty() const { return sizes_.empty(); }
  // Calls `take` for each of them. They are 8-aligned, as in the ring.
  template <class Take>
  void each(const Take& take) const {
    std::size_t at = 0;
    for (const std::size_t size : sizes_) {
      const std::size_t words = (size + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
      take(std::as_bytes(std::span(words_).subspan(at, words)).first(size));
      at += words;
    }
  }
  // Takes all out.
  KeptRecords take() { return std::exchange(*this, {}); }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::size_t> sizes_;
};

}  // namespace labelscope
