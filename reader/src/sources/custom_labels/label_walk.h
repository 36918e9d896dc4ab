// This walk goes from the address of the variable to the labels: ABI v1, "Interpretation of data",
// within bounds.
//
// The memory is hostile: the limits of outcome.h hold whatever it contains. These are the rules
// (labelscope/bpf/custom_labels.bpf.h follows the same, and tests/native compares the two):
//   - With a null set pointer or a count of 0, the thread is unlabelled.
//   - A null storage with a count, or a string that ends outside the address space, is malformed.
//   - The walk looks at no more than LS_MAX_SLOTS elements, and keeps no more than LS_MAX_LABELS
//     labels and LS_MAX_LABEL_BYTES bytes. It leaves out a label that does not fit; it never cuts
//     one. Each limit has its flag.
//   - An element without a key is skipped. A key without a value is left out and flagged.
//   - The first of equal keys counts.
//   - One unreadable byte makes the whole observation unreadable. Half a set is never reported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "sources/custom_labels/remote_set.h"

namespace labelscope {

// What became of one element of the array.
enum class ElementFate {
  kKept,
  kNoKey,
  kNullValue,
  kImpossible,    // one of its strings leaves the address space
  kBeyondLabels,  // the first element beyond LS_MAX_LABELS
  kBeyondBytes,   // the element would exceed LS_MAX_LABEL_BYTES
  kUnreadable,    // one of its strings is not there
};

struct ElementTrace {
  ElementFate fate = ElementFate::kKept;
  std::uint64_t key_length = 0;
  Address key_address = 0;
  std::uint64_t value_length = 0;
  Address value_address = 0;
  bool read = false;  // true if both strings were read
  std::string key;
  std::string value;
};

// What the walk found on its way, kept only if the caller asks for it.
struct WalkTrace {
  std::optional<Address> set;  // what the variable holds
  struct Head {
    Address storage = 0;
    std::uint64_t count = 0;
    std::uint64_t capacity = 0;
  };
  std::optional<Head> head;
  bool array_read = false;
  std::vector<ElementTrace> elements;  // those that were looked at
};

// `variable` is the address of custom_labels_current_set in one thread. Labels get the given
// publisher index.
Observation walk_label_set(const MemorySource& memory, Address variable, std::uint8_t publisher = 0,
                           WalkTrace* trace = nullptr);

// Does the part of the walk that comes after the array was read: the elements become labels.
// `flags` say what was left out before. Another source's pairs of strings, in this form, are labels
// as well.
Observation read_elements(const MemorySource& memory, std::span<const RemoteLabel> elements,
                          std::uint32_t flags, std::uint8_t publisher, WalkTrace* trace = nullptr);

}  // namespace labelscope
