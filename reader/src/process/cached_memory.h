// CachedMemory reads the memory of a stopped thread page by page: unwinding reads it a word at a
// time, and each read would be a system call.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/pages.h"
#include "labelscope/memory.h"

namespace labelscope {

// It is not thread-safe, unlike other MemorySources: it belongs to one unwinding at a time.
class CachedMemory {
 public:
  // Forgets everything: another thread is stopped now, or the same at another moment.
  void start(const MemorySource& memory) {
    memory_ = &memory;
    for (Page& page : pages_) page.number = kNone;
  }

  bool read(Address address, std::span<std::byte> out) {
    while (!out.empty()) {
      const std::byte* found = find(address);
      // These may be the last bytes before a hole: a page of a core file may be there in part.
      if (found == nullptr) return static_cast<bool>(memory_->read(address, out));
      const std::size_t piece = std::min<std::size_t>(out.size(), kPage - address % kPage);
      std::memcpy(out.data(), found, piece);
      out = out.subspan(piece);
      address += piece;
    }
    return true;
  }

 private:
  // Deep stacks are read upwards, page after page; a few more pages are code and globals.
  static constexpr std::size_t kPages = 16;
  static constexpr std::uint64_t kNone = UINT64_MAX;
  struct Page {
    std::uint64_t number = kNone;
    std::array<std::byte, kPage> bytes;
  };

  const std::byte* find(Address address) {
    const std::uint64_t number = address / kPage;
    Page& page = pages_[number % kPages];
    if (page.number != number) {
      page.number = kNone;
      if (!memory_->read(number * kPage, page.bytes)) return nullptr;
      page.number = number;
    }
    return page.bytes.data() + address % kPage;
  }

  const MemorySource* memory_ = nullptr;
  std::array<Page, kPages> pages_;
};

}  // namespace labelscope
