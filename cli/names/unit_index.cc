#include "cli/names/unit_index.h"

#include <dwarf.h>

#include <algorithm>
#include <utility>

#include "cli/names/dwarf_names.h"

namespace labelscope::cli {
namespace {

// The depth of namespaces, classes, blocks and inlined calls in each other; optimized Rust reaches
// 40 calls.
constexpr int kMaxDepth = 256;
constexpr int kMaxUnitNesting = 64;
constexpr std::size_t kMaxInlineDepth = 128;
constexpr std::uint32_t kNone = UINT32_MAX;
// An entry with more ranges, if there is one, is found in the first ones only.
constexpr std::size_t kMostRanges = UINT16_MAX;

bool may_hold_functions(unsigned tag) {
  return is_named_scope(static_cast<int>(tag)) || tag == DW_TAG_enumeration_type ||
         tag == DW_TAG_lexical_block;
}

bool is_part_of_function(unsigned tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

}  // namespace

class UnitIndex::Reader {
 public:
  Reader(UnitIndex& index, UnitEntries entries, const UnitPlace& place, Dwarf* dwarf,
         Budget& budget)
      : index_(index),
        entries_(std::move(entries)),
        place_(place),
        dwarf_(dwarf),
        budget_(budget) {}

  void read() {
    UnitEntry unit;
    // References of four bytes lead to all entries of a unit.
    if (place_.end - place_.start >= kNone) return;
    if (entries_.next(unit) && unit.has_children) read_children(0, kNone, false);
  }

 private:
  // Returns false when nothing more can be read. `in_code`: they are in a scope.
  bool read_children(int depth, std::uint32_t around, bool in_code) {
    UnitEntry entry;
    while (entries_.next(entry)) {
      if (entry.tag == 0) return true;
      const bool function = entry.tag == DW_TAG_subprogram;
      const bool part = in_code && is_part_of_function(entry.tag);
      std::uint32_t scope = kNone;
      if ((function || part) && !add_scope(entry, function, scope)) return false;
      bool more = true;
      if (entry.has_children) {
        if (depth < kMaxDepth && (part || may_hold_functions(entry.tag))) {
          std::uint32_t named = kNone;
          if (is_named_scope(static_cast<int>(entry.tag))) {
            named = static_cast<std::uint32_t>(index_.named_.size());
            index_.named_.push_back({relative(entry.offset), kNone, around});
          }
          more = read_children(depth + 1, named == kNone ? around : named, scope != kNone);
          if (named != kNone) index_.named_[named].end = relative(entries_.offset());
        } else {
          more = entries_.skip_children(entry);
        }
      }
      if (scope != kNone) {
        index_.scopes_[scope].next = static_cast<std::uint32_t>(index_.scopes_.size());
      }
      if (!more) return false;
    }
    return false;
  }

  std::uint32_t relative(Dwarf_Off offset) const {
    return static_cast<std::uint32_t>(offset - index_.start_);
  }

  // Adds a scope if the entry has code. Returns false if the budget is spent.
  bool add_scope(const UnitEntry& entry, bool function, std::uint32_t& scope) {
    const std::size_t first = index_.ranges_.size();
    const bool all = add_ranges(entry);
    const std::size_t count = std::min(index_.ranges_.size() - first, kMostRanges);
    index_.ranges_.resize(first + count);
    if (count == 0) return all;
    scope = static_cast<std::uint32_t>(index_.scopes_.size());
    index_.scopes_.push_back({relative(entry.offset), scope + 1, static_cast<std::uint32_t>(first),
                              static_cast<std::uint16_t>(count),
                              entry.tag == DW_TAG_inlined_subroutine, function});
    if (function) {
      for (std::size_t i = first; i < first + count; ++i) {
        index_.functions_.push_back({index_.ranges_[i].start, index_.ranges_[i].end, scope});
      }
    }
    return all;
  }

  bool add_ranges(const UnitEntry& entry) {
    if (!entry.has_list) {
      if (entry.end == 0) return true;
      if (!budget_.spend(Cost::kRanges)) return false;
      index_.ranges_.push_back({entry.start, entry.end});
      return true;
    }
    Dwarf_Die die;
    if (dwarf_offdie(dwarf_, entry.offset, &die) == nullptr) return true;
    return for_each_range(die, budget_, [&](Address start, Address end) {
      index_.ranges_.push_back({start, end});
    });
  }

  UnitIndex& index_;
  UnitEntries entries_;
  UnitPlace place_;
  Dwarf* dwarf_;
  Budget& budget_;
};

UnitIndex::UnitIndex(UnitEntries entries, const UnitPlace& place, Dwarf* dwarf, Budget& budget)
    : start_(place.start) {
  Reader(*this, std::move(entries), place, dwarf, budget).read();
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  functions_.shrink_to_fit();
  scopes_.shrink_to_fit();
  ranges_.shrink_to_fit();
  named_.shrink_to_fit();
}

const UnitIndex::Function* UnitIndex::function_at(Address address) const {
  auto at = std::upper_bound(functions_.begin(), functions_.end(), address,
                             [](Address a, const Function& each) { return a < each.start; });
  for (int steps = 0; at != functions_.begin() && steps < kMaxUnitNesting; ++steps) {
    --at;
    if (address < at->end) return &*at;
  }
  return nullptr;
}

Dwarf_Off UnitIndex::entry_of(const Function& function) const {
  return start_ + scopes_[function.scope].entry;
}

std::vector<Dwarf_Off> UnitIndex::calls_to(const Function& function, Address address,
                                           Budget& budget) const {
  std::vector<Dwarf_Off> calls;
  const auto holds = [&](const Scope& scope) {
    const auto ranges = std::span(ranges_).subspan(scope.first_range, scope.ranges);
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
      return address >= range.start && address < range.end;
    });
  };
  std::uint32_t end = scopes_[function.scope].next;
  std::uint32_t at = function.scope + 1;
  for (std::size_t depth = 0; at < end && budget.spend(Cost::kEntries);) {
    const Scope& scope = scopes_[at];
    if (scope.is_function || !holds(scope)) {
      at = scope.next;
      continue;
    }
    if (++depth > kMaxInlineDepth) break;
    if (scope.is_call) calls.push_back(start_ + scope.entry);
    end = scope.next;
    ++at;
  }
  return calls;
}

std::vector<Dwarf_Off> UnitIndex::around(Dwarf_Off entry) const {
  std::vector<Dwarf_Off> found;
  const Dwarf_Off wanted = entry - start_;
  auto after =
      std::upper_bound(named_.begin(), named_.end(), wanted,
                       [](Dwarf_Off offset, const Named& each) { return offset <= each.entry; });
  if (after == named_.begin()) return found;
  auto at = static_cast<std::uint32_t>(std::prev(after) - named_.begin());
  for (; at != kNone; at = named_[at].parent) {
    if (wanted < named_[at].end) found.push_back(start_ + named_[at].entry);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::size_t UnitIndex::bytes() const {
  return functions_.capacity() * sizeof(Function) + scopes_.capacity() * sizeof(Scope) +
         ranges_.capacity() * sizeof(Range) + named_.capacity() * sizeof(Named);
}

}  // namespace labelscope::cli
