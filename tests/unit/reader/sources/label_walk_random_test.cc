// Compares the walk with a model that follows the ABI's text as literally as it can, one label at a
// time, on made-up memory with many small errors.
#include <random>
#include <string>
#include <vector>

#include "sources/custom_labels/label_walk.h"
#include "support/catch.h"
#include "unit/reader/label_memory.h"

namespace labelscope::test {
namespace {

constexpr std::uint64_t kAddressEnd = 1ULL << 57;

struct Model {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  Pairs labels;
};

bool outside(const RawString& string) {
  if (string.address >= kAddressEnd || string.length >= kAddressEnd) return true;
  return string.address + string.length > kAddressEnd;
}

std::optional<std::string> bytes_at(const FakeMemory& memory, const RawString& string) {
  std::string bytes;
  for (std::uint64_t i = 0; i < string.length; ++i) {
    auto byte = read_value<char>(memory, string.address + i);
    if (!byte) return std::nullopt;
    bytes.push_back(*byte);
  }
  return bytes;
}

Model stop(ls_outcome outcome) { return {outcome, 0, {}}; }

Model model_of(const FakeMemory& memory) {
  auto pointer = read_value<Address>(memory, LabelMemory::kVariable);
  if (!pointer) return stop(LS_UNREADABLE_NOT_RESIDENT);
  if (*pointer == 0) return {};
  auto set = read_value<RawSet>(memory, *pointer);
  if (!set) return stop(LS_UNREADABLE_NOT_RESIDENT);
  if (set->count == 0) return {};
  if (set->storage == 0) return stop(LS_UNREADABLE_MALFORMED);
  Model model;
  if (set->count > 128) model.flags |= LS_TRUNCATED_SLOTS;
  std::vector<RawLabel> kept;
  std::uint64_t total = 0;
  std::vector<RawLabel> slots;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(set->count, 128); ++i) {
    auto slot = read_value<RawLabel>(memory, set->storage + i * sizeof(RawLabel));
    if (!slot) return stop(LS_UNREADABLE_NOT_RESIDENT);
    slots.push_back(*slot);
  }
  for (const RawLabel& slot : slots) {
    if (slot.key.address == 0) continue;
    if (slot.value.address == 0) {
      model.flags |= LS_NULL_VALUE;
      continue;
    }
    if (outside(slot.key) || outside(slot.value)) return stop(LS_UNREADABLE_MALFORMED);
    if (kept.size() == 64) {
      model.flags |= LS_TRUNCATED_LABELS;
      break;
    }
    const std::uint64_t size = slot.key.length + slot.value.length;
    if (total + size > 4096) {
      model.flags |= LS_TRUNCATED_BYTES;
      continue;
    }
    total += size;
    kept.push_back(slot);
  }
  for (const RawLabel& slot : kept) {
    auto key = bytes_at(memory, slot.key);
    auto value = bytes_at(memory, slot.value);
    if (!key || !value) return stop(LS_UNREADABLE_NOT_RESIDENT);
    bool known = false;
    for (const auto& earlier : model.labels) known = known || earlier.first == *key;
    if (known) {
      model.flags |= LS_DUPLICATE_KEY;
    } else {
      model.labels.emplace_back(*key, *value);
    }
  }
  model.outcome = model.labels.empty() ? LS_UNLABELLED : LS_LABELLED;
  return model;
}

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed), made_(below(3) == 0 ? below(6000) : below(20)) {}

  FakeMemory& make() {
    std::vector<RawLabel> labels(below(4) == 0 ? below(140) : below(8));
    for (RawLabel& label : labels) label = random_label();
    std::optional<std::uint64_t> count;
    if (below(10) == 0) count = below(2) == 0 ? below(300) : UINT64_MAX - below(3);
    made_.publish(labels, count);
    if (below(30) == 0) made_.memory.put(LabelMemory::kSet, RawSet{0, below(2), 0});
    if (below(30) == 0) made_.memory.put(LabelMemory::kVariable, Address{0});
    const Address holes[] = {LabelMemory::kVariable, LabelMemory::kSet, LabelMemory::kStorage,
                             LabelMemory::kStrings, LabelMemory::kStrings + 4096 * below(20)};
    if (below(6) == 0) made_.memory.unmap_page(holes[below(5)]);
    return made_.memory;
  }

 private:
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random_);
  }
  std::string random_text() {
    const std::uint64_t size = below(12) == 0 ? below(1500) : below(10);
    // The alphabet is small, so that keys repeat.
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>("ab\0\xff"[below(4)]);
    return text.size() > 4 ? text : text.substr(0, 1);
  }
  RawLabel random_label() {
    RawLabel label = made_.label(random_text(), random_text());
    RawString& victim = below(2) == 0 ? label.key : label.value;
    switch (below(40)) {
      case 0:
        victim.address = 0;
        break;
      case 1:
        victim = {below(3), kAddressEnd - below(4)};
        break;
      case 2:
        victim.length = UINT64_MAX - below(3);
        break;
      case 3:
        victim = {0, 1 + below(100)};
        break;
      case 4:
        victim.length = 4000 + below(200);
        break;
      default:
        break;
    }
    return label;
  }

  std::mt19937_64 random_;
  LabelMemory made_;
};

}  // namespace

TEST_CASE("label_walk_random: the walk and a literal reading of the ABI agree on any memory") {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Maker maker(seed);
    FakeMemory& memory = maker.make();
    memory.set_machine(Machine::kX86_64);  // the model knows no tags
    const Model model = model_of(memory);
    const Observation seen = walk_label_set(memory, LabelMemory::kVariable);
    INFO("seed " << seed);
    REQUIRE(outcome_name(seen.outcome) == outcome_name(model.outcome));
    REQUIRE(pairs_of(seen.labels) == model.labels);
    // The flags of an unreadable set do not matter.
    if (!is_unreadable(seen.outcome)) REQUIRE(seen.flags == model.flags);
  }
}

}  // namespace labelscope::test
