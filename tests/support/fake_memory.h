// Memory made by a test: pages with holes between them. Reads are counted, since walks are judged
// by their number.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>

#include "labelscope/memory.h"

namespace labelscope::test {

class FakeMemory final : public MemorySource {
 public:
  static constexpr Address kPage = 4096;

  // Maps the pages of [address, address + size). New ones are filled with zeros.
  void map(Address address, std::size_t size) {
    if (size == 0) return;
    for (Address page = page_of(address);; page += kPage) {
      pages_.try_emplace(page);
      if (page == page_of(address + (size - 1))) break;
    }
  }
  void unmap_page(Address address) { pages_.erase(page_of(address)); }

  // A write maps the pages that it needs.
  void put_bytes(Address address, std::span<const std::byte> bytes) {
    map(address, bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i, ++address) {
      pages_[page_of(address)][address % kPage] = bytes[i];
    }
  }
  template <class T>
  void put(Address address, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(address, std::as_bytes(std::span(&value, 1)));
  }
  void put_text(Address address, std::string_view text) {
    put_bytes(address, std::as_bytes(std::span(text)));
  }

  Status read(Address address, std::span<std::byte> out) const override {
    ++reads_;
    for (std::size_t done = 0; done < out.size();) {
      const Address at = address + done;
      const auto page = pages_.find(page_of(at));
      if (page == pages_.end()) return Error{ErrorCode::kUnreadable, "a hole in the fake memory"};
      const std::size_t count = std::min<std::size_t>(out.size() - done, kPage - at % kPage);
      std::memcpy(out.data() + done, page->second.data() + at % kPage, count);
      done += count;
    }
    return {};
  }
  // Says to which processor pointers belong; the default is this machine's.
  void set_machine(Machine machine) { machine_ = machine; }
  Address untagged(Address pointer) const override { return pointer & address_bits(machine_); }
  std::size_t reads() const { return reads_; }
  void count_from_zero() { reads_ = 0; }

 private:
  static Address page_of(Address address) { return address & ~(kPage - 1); }
  std::map<Address, std::array<std::byte, kPage>> pages_;
  mutable std::atomic<std::size_t> reads_{0};
  Machine machine_ = kHostMachine;
};

}  // namespace labelscope::test
