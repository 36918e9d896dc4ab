#include "bpf/unwind/mapped_since.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "unwind/frame.h"

namespace labelscope {

// Two files one after the other may have one inode number, but not one generation.
bool MappedSince::are_same(const Change& one, const Change& other) {
  if (one.code != other.code) return false;
  return one.code.generation != 0 || (one.has_no_table && other.has_no_table);
}

void MappedSince::begin_list(std::uint32_t list, std::uint64_t read_ns,
                             std::uint64_t read_until_ns) {
  lists_.push_back({list, read_ns, read_until_ns});
  if (lists_.size() > kMostLists) lists_.pop_front();
  const std::uint64_t oldest_ns = std::ranges::min_element(lists_, {}, &List::read_ns)->read_ns;
  // Of what no list can lack, the last one is what the oldest list has.
  for (auto& [start, place] : places_) {
    auto& changes = place.changes;
    auto newer = std::ranges::upper_bound(changes, oldest_ns, {}, &Change::time_ns);
    if (newer == changes.begin()) continue;
    changes_ -= static_cast<std::size_t>(newer - changes.begin()) - 1;
    changes.erase(changes.begin(), std::prev(newer));
  }
}

// Makes two places of one that has the address in its middle.
void MappedSince::split_at(Address address) {
  auto next = places_.upper_bound(address);
  if (next == places_.begin()) return;
  auto& [start, place] = *std::prev(next);
  if (start == address || place.end <= address) return;
  changes_ += place.changes.size();
  places_.emplace_hint(next, address, place);
  place.end = address;
}

// Reports of several processors may come a little out of order.
void MappedSince::append(Place& place, const Change& change) {
  auto behind = std::ranges::upper_bound(place.changes, change.time_ns, {}, &Change::time_ns);
  place.changes.insert(behind, change);
  ++changes_;
}

void MappedSince::note(Address start, Address end, std::uint64_t time_ns, const MappedCode& code,
                       bool was_there) {
  if (end <= start) return;
  if (changes_ >= kMostChanges) {
    places_.clear();
    changes_ = 0;
    forgotten_ns_ = std::max(forgotten_ns_, time_ns);
  }
  split_at(start);
  split_at(end);
  const Change change{time_ns, code, was_there};
  for (Address at = start; at < end;) {
    auto place = places_.lower_bound(at);
    if (place == places_.end() || place->first > at) {
      const Address until = place == places_.end() ? end : std::min(end, place->first);
      place = places_.emplace_hint(place, at, Place{until, {}});
      if (was_there) append(place->second, {0, code, true});
    }
    append(place->second, change);
    at = place->second.end;
  }
}

bool MappedSince::is_doubtful(Address address, const List& list, std::uint64_t time_ns) const {
  auto next = places_.upper_bound(address);
  if (next == places_.begin()) return false;
  const Place& place = std::prev(next)->second;
  if (address >= place.end) return false;
  const Change* listed = nullptr;
  const Change* now = nullptr;
  bool is_clear = true;  // what the list has
  for (const Change& change : place.changes) {
    if (change.time_ns <= list.read_ns) {
      listed = &change;
    } else if (change.time_ns <= list.read_until_ns) {
      is_clear &= listed != nullptr && are_same(*listed, change);
    }
    if (change.time_ns <= time_ns) now = &change;
  }
  if (!is_clear) return true;
  if (now == nullptr || now->time_ns <= list.read_ns) return false;
  return listed == nullptr || !are_same(*listed, *now);
}

std::optional<std::size_t> MappedSince::doubtful(std::uint32_t list, std::uint64_t time_ns,
                                                 std::span<const std::uint64_t> frames) const {
  if (frames.empty()) return std::nullopt;
  const auto known = std::ranges::find(lists_, list, &List::number);
  if (known == lists_.end() || known->read_ns < forgotten_ns_) return 0;
  if (places_.empty()) return std::nullopt;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Address address = frame_of(frames[i]).value;
    // A return address may point behind the last instruction of its function.
    if (is_doubtful(i == 0 ? address : address - 1, *known, time_ns)) return i;
  }
  return std::nullopt;
}

}  // namespace labelscope
