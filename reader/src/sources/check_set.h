// The data rules (LS040 to LS049, LS051) on one label set, as it is in memory now: ABI v1,
// "Interpretation of data". This check takes every word of the ABI literally; the walk
// (label_walk.h) is forgiving.
//
// The memory is hostile: the check reads at most kMaxCheckedElements elements and kMaxCheckedBytes
// bytes of keys and values. Beyond that it only tries to read the first and the last byte, and the
// set breaks LS048. It is thread-safe.
//
// ABI v1 leaves some points open. They are decided here:
//   - LS048 (reader-limits) finds a set of which labelscope itself would leave something out: more
//     than LS_MAX_SLOTS elements, LS_MAX_LABELS elements with a key, or LS_MAX_LABEL_BYTES bytes of
//     keys and values (outcome.h). Other readers keep less, the smallest known 10 elements with 25
//     bytes of a key and 53 of a value. ABI v1 names no number, so that is advice and no finding.
//   - A set on the thread's own stack, in a frame that it has left, is memory that was freed
//     (LS040): the next call overwrites it. On the part of the stack that is in use a set is right.
//   - A key or value that ends with a zero byte is legal, as any bytes are, but is hardly meant
//     (LS049).
//   - ABI v1 gives `capacity` no meaning for readers. A writer that has it less than `count` does
//     not know its own set (LS051).
//   - A string of length 0 may be anywhere in the address space, mapped or not.
//   - In an element without a key nothing else counts: its value may be null.
//   - An element with a null value still takes its key: a later element with this key is a
//     duplicate.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "findings/diagnostic.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"

namespace labelscope {

inline constexpr std::size_t kMaxCheckedElements = 4096;
inline constexpr std::size_t kMaxCheckedBytes = std::size_t{1} << 20;

// A label set in a form that can be compared: each key once (the first counts), sorted by key,
// without the elements that lack a key or a value. Two sets that are equal in this form are the
// same to every reader.
struct CheckedSet {
  enum class State { kNone, kSet, kUnreadable };  // kNone means that there are no labels
  State state = State::kNone;
  LabelSet labels;  // empty unless the state is kSet
  friend bool operator==(const CheckedSet&, const CheckedSet&) = default;
};

struct SetCheck {
  CheckedSet set;
  // They are sorted by code, with each rule once: `found` describes the first case, `count` is the
  // number of such elements, `subject` is empty. If `set` is kUnreadable and this is empty, the
  // process has ended or may not be looked at.
  std::vector<Diagnostic> diagnostics;
  bool tested = false;  // true if some rule was tested: an empty or unread value tests none
  // The memory that was read, the variable first. The result stays the same until some of it
  // changes.
  struct Range {
    Address start = 0;
    std::size_t size = 0;
  };
  std::vector<Range> ranges;
};

// The thread's stack. `start` returns its lowest address, or nullopt if the memory around the stack
// pointer is not known to be a stack and nothing else. It is called if a set lies just below.
struct ThreadStack {
  Address pointer = 0;  // 0 if it is not known
  std::function<std::optional<Address>()> start;
};

// `variable` is the address of custom_labels_current_set in one thread, which must be stopped. A
// null pointer, a count of 0 and a set without a valid label all give the same label set: kNone.
SetCheck check_label_set(const MemorySource& memory, Address variable,
                         const ThreadStack& stack = {});

}  // namespace labelscope
