// Finds what bytes stand for that were seen before: stacks and labels as the sampler sends them.
//
//   slots_   (hash, place) --> bytes_   | index | size | the bytes | index | size | the bytes | ...
//
// A look-up hashes the bytes once, and touches one cache line of the slots and those of the bytes.
// No entry has an allocation of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/page_allocator.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// It is a cache: when it has grown past a bound, it forgets everything.
class ByteCache {
 public:
  // Returns the index of these bytes, which the caller sets if it is kNoIndex: then they are new.
  // The reference is valid until the next call.
  Index& index_of(std::string_view bytes);
  void clear();

 private:
  struct Entry {  // before the bytes of each
    Index index = kNoIndex;
    std::uint32_t size = 0;
  };
  static constexpr std::size_t kMaxBytes = 64 << 20;

  // Places count in these, so that each entry is aligned.
  static constexpr std::size_t kUnit = sizeof(Entry);

  Entry* entry_at(Index place) { return reinterpret_cast<Entry*>(bytes_.data() + place * kUnit); }
  std::string_view bytes_at(Index place);

  IndexTable slots_;
  std::vector<std::byte, PageAllocator<std::byte>> bytes_;
};

}  // namespace labelscope::cli
