// This is the walk over one label set, as ABI v1 lays it out:
//
//   variable -> [ storage | count | capacity ]                     24 bytes
//                  |
//                  +-> [ key.len key.buf value.len value.buf ] * count      32 bytes each
//                                |                 |
//                                +-> bytes         +-> bytes
//
// Most of a read's cost is the call, and hardly any is the bytes. So this reads the whole array at
// once, and all strings at once if they lie close together (many writers pack them, and a heap may
// place them so).
#include "sources/custom_labels/label_walk.h"

#include <algorithm>
#include <array>

#include "sources/custom_labels/remote_set.h"

namespace labelscope {
namespace {

// A span may also hold bytes that belong to no label: as many as the labels have, and this many
// more. Otherwise each string is read by itself.
constexpr std::uint64_t kSpanSlack = 512;

bool possible(const MemorySource& memory, const RemoteString& string) {
  return fits_address_space(memory.untagged(string.address), string.length);
}

Observation unreadable(ls_outcome outcome, std::uint32_t flags) { return {outcome, flags, {}}; }

// Decides whether to keep an element, from what is kept already.
ElementFate judge(const MemorySource& memory, const RemoteLabel& slot, std::size_t labels,
                  std::uint64_t bytes) {
  if (slot.key.address == 0) return ElementFate::kNoKey;
  if (slot.value.address == 0) return ElementFate::kNullValue;
  if (!possible(memory, slot.key) || !possible(memory, slot.value)) return ElementFate::kImpossible;
  if (labels == LS_MAX_LABELS) return ElementFate::kBeyondLabels;
  if (slot.key.length + slot.value.length > LS_MAX_LABEL_BYTES - bytes) {
    return ElementFate::kBeyondBytes;
  }
  return ElementFate::kKept;
}

// The elements to keep, in order; or the information that one is impossible.
struct Selection {
  std::vector<RemoteLabel> labels;
  std::uint64_t bytes = 0;
  bool malformed = false;
};

Selection select(const MemorySource& memory, std::span<const RemoteLabel> slots,
                 std::uint32_t& flags, WalkTrace* trace) {
  Selection chosen;
  for (const RemoteLabel& slot : slots) {
    const ElementFate fate = judge(memory, slot, chosen.labels.size(), chosen.bytes);
    if (trace != nullptr) {
      trace->elements.push_back({.fate = fate,
                                 .key_length = slot.key.length,
                                 .key_address = slot.key.address,
                                 .value_length = slot.value.length,
                                 .value_address = slot.value.address,
                                 .key = {},
                                 .value = {}});
    }
    switch (fate) {
      case ElementFate::kNoKey:
      case ElementFate::kUnreadable:
        break;
      case ElementFate::kNullValue:
        flags |= LS_NULL_VALUE;
        break;
      case ElementFate::kImpossible:
        chosen.malformed = true;
        return chosen;
      case ElementFate::kBeyondLabels:
        flags |= LS_TRUNCATED_LABELS;
        return chosen;
      case ElementFate::kBeyondBytes:
        flags |= LS_TRUNCATED_BYTES;
        break;
      case ElementFate::kKept:
        chosen.bytes += slot.key.length + slot.value.length;
        chosen.labels.push_back(slot);
        break;
    }
  }
  return chosen;
}

// Reads strings, in one span if that is cheaper.
class StringReader {
 public:
  StringReader(const MemorySource& memory, const Selection& chosen) : memory_(memory) {
    Address low = UINT64_MAX;
    Address high = 0;
    for (const RemoteLabel& label : chosen.labels) {
      for (const RemoteString& string : {label.key, label.value}) {
        if (string.length == 0) continue;
        const Address address = memory.untagged(string.address);
        low = std::min(low, address);
        high = std::max(high, address + string.length);
      }
    }
    if (low >= high || high - low > 2 * chosen.bytes + kSpanSlack) return;
    span_.resize(high - low);
    start_ = low;
    if (!memory_.read(low, std::as_writable_bytes(std::span(span_)))) span_.clear();
  }

  Result<std::string> read(const RemoteString& string) const {
    if (!span_.empty() && string.length != 0) {
      return span_.substr(memory_.untagged(string.address) - start_, string.length);
    }
    std::string bytes(string.length, '\0');
    const Address address = memory_.untagged(string.address);
    Status status = memory_.read(address, std::as_writable_bytes(std::span(bytes)));
    if (!status) return std::move(status).error();
    return bytes;
  }

 private:
  const MemorySource& memory_;
  std::string span_;
  Address start_ = 0;
};

// Returns the trace of the next kept element after `last`.
ElementTrace* next_kept(WalkTrace& trace, const ElementTrace* last) {
  std::size_t i = last == nullptr ? 0 : static_cast<std::size_t>(last - trace.elements.data()) + 1;
  while (trace.elements[i].fate != ElementFate::kKept) ++i;
  return &trace.elements[i];
}

}  // namespace

Observation walk_label_set(const MemorySource& memory, Address variable, std::uint8_t publisher,
                           WalkTrace* trace) {
  auto set_address = read_value<Address>(memory, variable);
  if (!set_address) return unreadable(LS_UNREADABLE_NOT_RESIDENT, 0);
  if (trace != nullptr) trace->set = *set_address;
  if (*set_address == 0) return {};
  auto set = read_value<RemoteSet>(memory, memory.untagged(*set_address));
  if (!set) return unreadable(LS_UNREADABLE_NOT_RESIDENT, 0);
  if (trace != nullptr) trace->head = {set->storage, set->count, set->capacity};
  if (set->count == 0) return {};
  if (set->storage == 0) return unreadable(LS_UNREADABLE_MALFORMED, 0);

  std::uint32_t flags = 0;
  if (set->count > LS_MAX_SLOTS) flags |= LS_TRUNCATED_SLOTS;
  std::array<RemoteLabel, LS_MAX_SLOTS> slots;
  std::span<RemoteLabel> used(slots.data(), std::min<std::uint64_t>(set->count, LS_MAX_SLOTS));
  if (!memory.read(memory.untagged(set->storage), std::as_writable_bytes(used))) {
    return unreadable(LS_UNREADABLE_NOT_RESIDENT, flags);
  }
  if (trace != nullptr) trace->array_read = true;
  return read_elements(memory, used, flags, publisher, trace);
}

Observation read_elements(const MemorySource& memory, std::span<const RemoteLabel> elements,
                          std::uint32_t flags, std::uint8_t publisher, WalkTrace* trace) {
  Selection chosen = select(memory, elements, flags, trace);
  if (chosen.malformed) return unreadable(LS_UNREADABLE_MALFORMED, flags);

  Observation seen;
  StringReader strings(memory, chosen);
  ElementTrace* element = nullptr;
  for (const RemoteLabel& label : chosen.labels) {
    auto key = strings.read(label.key);
    auto value = strings.read(label.value);
    if (trace != nullptr) {
      element = next_kept(*trace, element);
      element->read = key && value;
      if (element->read) {
        element->key = *key;
        element->value = *value;
      } else {
        element->fate = ElementFate::kUnreadable;
      }
    }
    if (!key || !value) return unreadable(LS_UNREADABLE_NOT_RESIDENT, flags);
    seen.labels.push_back({*std::move(key), *std::move(value), publisher});
  }
  keep_first_keys(seen.labels, flags);
  seen.outcome = seen.labels.empty() ? LS_UNLABELLED : LS_LABELLED;
  seen.flags = flags;
  return seen;
}

}  // namespace labelscope
