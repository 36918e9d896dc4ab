// The walk over one label set, as ABI v1 lays it out:
//
//   variable -> [ storage | count | capacity ]                     24 bytes
//                  |
//                  +-> [ key.len key.buf value.len value.buf ] * count      32 bytes each
//                                |                 |
//                                +-> bytes         +-> bytes
//
// Reading costs calls, not bytes: the array is read at once, and the strings in one read where they
// lie close together (a writer that packs them, or a heap that happened to).
#include "labelscope/label_walk.h"

#include <algorithm>
#include <array>

#include "customlabels/label_abi.h"
#include "labelscope/locate.h"

namespace labelscope {
namespace {

// The ABI's structures as they lie in the target: its pointers are addresses to us.
struct RemoteString {
  std::uint64_t length;
  Address address;
};
struct RemoteLabel {
  RemoteString key;
  RemoteString value;
};
struct RemoteSet {
  Address storage;
  std::uint64_t count;
  std::uint64_t capacity;
};
static_assert(sizeof(RemoteLabel) == sizeof(custom_labels_label_t) &&
              sizeof(RemoteSet) == sizeof(custom_labels_labelset_t));

// No user address on either processor has a bit above these (57-bit addresses of 5-level page
// tables).
constexpr std::uint64_t kAddressEnd = 1ULL << 57;
// A span may hold this many bytes that belong to no label; more is read string by string.
constexpr std::uint64_t kSpanSlack = 512;

bool possible(const MemorySource& memory, const RemoteString& string) {
  const Address address = memory.untagged(string.address);
  return string.length < kAddressEnd && address < kAddressEnd &&
         address + string.length <= kAddressEnd;
}

Observation unreadable(ls_outcome outcome, std::uint32_t flags) { return {outcome, flags, {}}; }

// The elements to keep, in order; nullopt if one is impossible.
struct Selection {
  std::vector<RemoteLabel> labels;
  std::uint64_t bytes = 0;
  bool malformed = false;
};

Selection select(const MemorySource& memory, std::span<const RemoteLabel> slots,
                 std::uint32_t& flags) {
  Selection chosen;
  for (const RemoteLabel& slot : slots) {
    if (slot.key.address == 0) continue;
    if (slot.value.address == 0) {
      flags |= LS_NULL_VALUE;
      continue;
    }
    if (!possible(memory, slot.key) || !possible(memory, slot.value)) {
      chosen.malformed = true;
      return chosen;
    }
    if (chosen.labels.size() == LS_MAX_LABELS) {
      flags |= LS_TRUNCATED_LABELS;
      break;
    }
    if (slot.key.length + slot.value.length > LS_MAX_LABEL_BYTES - chosen.bytes) {
      flags |= LS_TRUNCATED_BYTES;
      continue;
    }
    chosen.bytes += slot.key.length + slot.value.length;
    chosen.labels.push_back(slot);
  }
  return chosen;
}

// Reads strings, through one span where that is cheaper.
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

}  // namespace

Observation walk_label_set(const MemorySource& memory, Address variable, std::uint8_t publisher) {
  auto set_address = read_value<Address>(memory, variable);
  if (!set_address) return unreadable(LS_UNREADABLE_NOT_RESIDENT, 0);
  if (*set_address == 0) return {};
  auto set = read_value<RemoteSet>(memory, memory.untagged(*set_address));
  if (!set) return unreadable(LS_UNREADABLE_NOT_RESIDENT, 0);
  if (set->count == 0) return {};
  if (set->storage == 0) return unreadable(LS_UNREADABLE_MALFORMED, 0);

  std::uint32_t flags = 0;
  if (set->count > LS_MAX_SLOTS) flags |= LS_TRUNCATED_SLOTS;
  std::array<RemoteLabel, LS_MAX_SLOTS> slots;
  std::span<RemoteLabel> used(slots.data(), std::min<std::uint64_t>(set->count, LS_MAX_SLOTS));
  if (!memory.read(memory.untagged(set->storage), std::as_writable_bytes(used))) {
    return unreadable(LS_UNREADABLE_NOT_RESIDENT, flags);
  }
  Selection chosen = select(memory, used, flags);
  if (chosen.malformed) return unreadable(LS_UNREADABLE_MALFORMED, flags);

  Observation seen;
  StringReader strings(memory, chosen);
  for (const RemoteLabel& label : chosen.labels) {
    auto key = strings.read(label.key);
    auto value = strings.read(label.value);
    if (!key || !value) return unreadable(LS_UNREADABLE_NOT_RESIDENT, flags);
    seen.labels.push_back({*std::move(key), *std::move(value), publisher});
  }
  keep_first_keys(seen.labels, flags);
  seen.outcome = seen.labels.empty() ? LS_UNLABELLED : LS_LABELLED;
  seen.flags = flags;
  return seen;
}

void merge_observation(Observation& total, Observation&& one, bool first) {
  if (first) {
    total = std::move(one);
    return;
  }
  std::uint32_t flags = total.flags | one.flags;
  bool any_unreadable = is_unreadable(total.outcome) || is_unreadable(one.outcome);
  if (total.outcome == LS_LABELLED || one.outcome == LS_LABELLED) {
    if (any_unreadable) flags |= LS_PARTLY_UNREADABLE;
    total.outcome = LS_LABELLED;
  } else if (any_unreadable && !is_unreadable(total.outcome)) {
    total.outcome = one.outcome;
  }
  if (total.outcome != LS_UNLABELLED) flags &= ~static_cast<std::uint32_t>(LS_NEVER_TOUCHED);
  for (Label& label : one.labels) {
    bool known = false;
    for (const Label& earlier : total.labels) {
      if (earlier.key != label.key) continue;
      if (earlier.value == label.value) {
        known = true;
      } else {
        flags |= LS_KEY_CONFLICT;
      }
    }
    if (!known) total.labels.push_back(std::move(label));
  }
  total.flags = flags;
}

Observation observe(std::span<const ls_tls_recipe> recipes, Address thread_pointer,
                    const MemorySource& memory) {
  Observation total;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    Located where = locate(recipes[i], thread_pointer, memory);
    Observation one = where.address
                          ? walk_label_set(memory, *where.address, static_cast<std::uint8_t>(i))
                          : Observation{where.outcome, where.flags, {}};
    merge_observation(total, std::move(one), i == 0);
  }
  return total;
}

}  // namespace labelscope
