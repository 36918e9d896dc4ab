// Label sets of ABI v1 laid out in fake memory, as a writer makes them or with errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/label.h"
#include "support/fake_memory.h"

namespace labelscope::test {

struct RawString {
  std::uint64_t length = 0;
  Address address = 0;
};
struct RawLabel {
  RawString key;
  RawString value;
};
struct RawSet {
  Address storage = 0;
  std::uint64_t count = 0;
  std::uint64_t capacity = 0;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline Pairs pairs_of(const LabelSet& labels) {
  Pairs pairs;
  for (const Label& label : labels) pairs.emplace_back(label.key, label.value);
  return pairs;
}

// One thread's variable and the set that it leads to. Strings lie one behind the other, or `gap`
// bytes apart.
class LabelMemory {
 public:
  static constexpr Address kVariable = 0x7f0000001008;
  static constexpr Address kSet = 0x550000000100;
  static constexpr Address kStorage = 0x550000010000;
  static constexpr Address kStrings = 0x550000100000;

  explicit LabelMemory(std::uint64_t gap = 0) : gap_(gap) {}

  RawString text(const std::string& bytes) {
    const RawString raw{bytes.size(), next_};
    memory.put_text(next_, bytes);
    if (bytes.empty()) memory.map(next_, 1);
    next_ += bytes.size() + gap_;
    return raw;
  }
  RawLabel label(const std::string& key, const std::string& value) {
    const RawString raw_key = text(key);
    return {raw_key, text(value)};
  }
  // Makes these labels the current set. `count` is a false count of them.
  void publish(const std::vector<RawLabel>& labels, std::optional<std::uint64_t> count = {}) {
    memory.put(kVariable, kSet);
    const std::uint64_t claimed = count.value_or(labels.size());
    memory.put(kSet, RawSet{kStorage, claimed, claimed});
    memory.map(kStorage, 1);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      memory.put(kStorage + i * sizeof(RawLabel), labels[i]);
    }
  }
  void publish(std::initializer_list<std::pair<const char*, const char*>> labels) {
    std::vector<RawLabel> raw;
    for (const auto& [key, value] : labels) raw.push_back(label(key, value));
    publish(raw);
  }

  FakeMemory memory;

 private:
  Address next_ = kStrings;
  std::uint64_t gap_;
};

}  // namespace labelscope::test
