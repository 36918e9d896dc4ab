// A label set laid out in made-up memory like a writer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_memory.h"

namespace labelscope::test {

struct RemoteString {
  std::uint64_t length = 0;
  Address address = 0;
};
struct RemoteSlot {
  RemoteString key;
  RemoteString value;
};

inline constexpr Address kVariable = 0x10'0000;
inline constexpr Address kSet = 0x20'0000;
inline constexpr Address kStorage = 0x30'0000;
inline constexpr Address kStrings = 0x40'0000;

// Where the strings of a set are put.
enum class Layout {
  kPacked,     // one behind the other
  kScattered,  // each on a page of its own
};

class LabelMemory {
 public:
  explicit LabelMemory(Layout layout = Layout::kPacked) : layout_(layout) {
    memory.put(kVariable, kSet);
  }

  RemoteString string(const std::string& bytes) {
    RemoteString placed{bytes.size(), next_};
    memory.put_text(next_, bytes);
    next_ += layout_ == Layout::kPacked ? bytes.size() : 3 * FakeMemory::kPage + 40;
    return placed;
  }
  LabelMemory& add(const std::string& key, const std::string& value) {
    RemoteString key_place = string(key);
    slots.push_back({key_place, string(value)});
    return *this;
  }
  // Writes the set. It is called when all slots are there.
  LabelMemory& publish() {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      memory.put(kStorage + i * sizeof(RemoteSlot), slots[i]);
    }
    publish_set(kStorage, slots.size());
    return *this;
  }
  void publish_set(Address storage, std::uint64_t count) {
    memory.put(kSet, storage);
    memory.put(kSet + 8, count);
    memory.put(kSet + 16, count);
  }

  FakeMemory memory;
  std::vector<RemoteSlot> slots;

 private:
  Layout layout_;
  Address next_ = kStrings;
};

}  // namespace labelscope::test
