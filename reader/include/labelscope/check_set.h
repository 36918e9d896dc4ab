// The data rules (LS040 to LS048) on one label set, as it is in memory now: ABI v1, "Interpretation
// of data", to the letter and not forgiving like the walk (label_walk.h).
//
// What is read is hostile: at most kMaxCheckedElements elements and kMaxCheckedBytes bytes of keys
// and values are looked at; what lies beyond is LS048 and not looked at. Thread-safe.
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
// a key left out, sorted by key. Two sets are the same to every reader if they are equal.
struct CheckedSet {
  enum class State { kNone, kSet, kUnreadable };  // kNone: the pointer is null
  State state = State::kNone;
  LabelSet labels;  // empty unless kSet
  friend bool operator==(const CheckedSet&, const CheckedSet&) = default;
};

struct SetCheck {
  CheckedSet set;
  std::vector<Diagnostic> diagnostics;  // each rule once, `subject` left empty
  // What was read, for whoever wants to know when to read again: the variable first.
  struct Range {
    Address start = 0;
    std::size_t size = 0;
  };
  std::vector<Range> ranges;
};

// `variable`: address of custom_labels_current_set in one thread. A null pointer and a count of 0
// are the same label set: the empty one is kNone.
SetCheck check_label_set(const MemorySource& memory, Address variable);

// As people read it: "{http.route=/pay, tenant=42}", escaped and cut after some hundred bytes.
std::string label_set_text(const CheckedSet& set);

}  // namespace labelscope
