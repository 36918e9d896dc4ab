// From the address of the variable to the labels: ABI v1, "Interpretation of data", within bounds.
//
// What is read is hostile: the limits of outcome.h hold whatever the memory says. The rules, which
// labelscope/bpf/walk_labels.bpf.h follows too (tests/native holds one against the other):
//   - null set pointer, or count 0: unlabelled. A null storage with a count, or a string whose end
//   leaves
//     the address space: malformed.
//   - at most LS_MAX_SLOTS elements are looked at, LS_MAX_LABELS labels and LS_MAX_LABEL_BYTES
//   bytes kept;
//     a label that does not fit is left out whole, never cut; each limit has its flag.
//   - an element without a key is skipped; a key without a value is left out and flagged.
//   - of equal keys the first counts.
//   - one unreadable byte makes the whole observation unreadable: no half set is ever reported.
#pragma once

#include <span>

#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// `variable`: address of custom_labels_current_set in one thread. Labels get the given publisher
// index.
Observation walk_label_set(const MemorySource& memory, Address variable,
                           std::uint8_t publisher = 0);

// Every recipe of a process applied to one thread, and the results merged: labelled if any
// publisher is.
Observation observe(std::span<const ls_tls_recipe> recipes, Address thread_pointer,
                    const MemorySource& memory);

// Adds one publisher's observation to what was seen so far. Start from a default-constructed
// Observation with `first` true.
void merge_observation(Observation& total, Observation&& one, bool first);

}  // namespace labelscope
