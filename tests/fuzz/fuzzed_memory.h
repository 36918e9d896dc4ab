// Memory that an input makes up: pages as {page number, length / 4, bytes}, which an address space
// of 16 pages repeats for ever, so that wild pointers hit something.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "labelscope/memory.h"

class FuzzedMemory final : public labelscope::MemorySource {
 public:
  FuzzedMemory(const std::uint8_t* data, std::size_t size) {
    while (size > 2) {
      auto& page = pages_[data[0] % kPages];
      const std::size_t count = std::min<std::size_t>(size - 2, std::size_t{data[1]} * 4);
      std::memcpy(page.data(), data + 2, count);
      present_[data[0] % kPages] = true;
      data += 2 + count;
      size -= 2 + count;
    }
  }
  labelscope::Status read(labelscope::Address address, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const labelscope::Address at = address + i;
      const std::size_t page = at / kPageSize % kPages;
      if (!present_[page]) return labelscope::Error{labelscope::ErrorCode::kUnreadable, "a hole"};
      out[i] = pages_[page][at % kPageSize];
    }
    return {};
  }

 private:
  static constexpr std::size_t kPages = 16;
  static constexpr std::size_t kPageSize = 1024;
  std::array<std::array<std::byte, kPageSize>, kPages> pages_{};
  std::array<bool, kPages> present_{};
};
