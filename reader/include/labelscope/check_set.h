// The data rules (LS040 to LS048) on one label set, as it is in memory now: ABI v1, "Interpretation
// of data", to the letter and not forgiving like the walk (label_walk.h).
//
// What is read is hostile: at most kMaxCheckedElements elements and kMaxCheckedBytes bytes of keys
// and values are looked at; of what lies beyond only the ends are probed, and it is LS048.
// Thread-safe.
//
// Decided where ABI v1 leaves it open:
//   - LS048 (reader-limits) is a set of which labelscope itself would leave something out: more
//   than
//     LS_MAX_SLOTS elements, LS_MAX_LABELS elements with a key, or LS_MAX_LABEL_BYTES bytes of keys
//     and values (outcome.h). Others keep less, the smallest known 10 elements with 25 bytes of a
//     key and 53 of a value; ABI v1 names no number, so that is advice and no finding.
//   - a string of length 0 may lie anywhere in the address space, whether there is memory or not;
//   - of an element without a key nothing else counts, its value may be null;
//   - an element with a null value still takes its key: a later one with the same key is a
//   duplicate.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "labelscope/diagnostic.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"

namespace labelscope {

inline constexpr std::size_t kMaxCheckedElements = 4096;
inline constexpr std::size_t kMaxCheckedBytes = std::size_t{1} << 20;

// A label set as ABI v1 defines it, to be compared: keys once (the first counts), elements without
// a key or a value left out, sorted by key. Two sets are the same to every reader if they are
// equal.
struct CheckedSet {
  enum class State { kNone, kSet, kUnreadable };  // kNone: no labels
  State state = State::kNone;
  LabelSet labels;  // empty unless kSet
  friend bool operator==(const CheckedSet&, const CheckedSet&) = default;
};

struct SetCheck {
  CheckedSet set;
  // By code, each rule once: `found` tells of the first case, `count` is how many elements are like
  // it, `subject` is empty. None, and kUnreadable: the process has ended or may not be looked at.
  std::vector<Diagnostic> diagnostics;
  // What was read, for whoever wants to know when to read again: the variable first.
  struct Range {
    Address start = 0;
    std::size_t size = 0;
  };
  std::vector<Range> ranges;
};

// `variable`: address of custom_labels_current_set in one thread, which is stopped. A null pointer,
// a count of 0 and a set without one valid label are the same label set: kNone.
SetCheck check_label_set(const MemorySource& memory, Address variable);

}  // namespace labelscope
