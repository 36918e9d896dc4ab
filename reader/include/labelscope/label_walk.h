// From the address of the variable to the labels: ABI v1, "Interpretation of data", within bounds.
//
// The memory is hostile: the limits of outcome.h hold whatever it says. The rules
// (labelscope/bpf/walk_labels.bpf.h follows the same, and tests/native compares the two):
//   - A null set pointer or a count of 0: unlabelled.
//   - A null storage with a count, or a string that ends outside the address space: malformed.
//   - The walk looks at no more than LS_MAX_SLOTS elements, and keeps no more than LS_MAX_LABELS
//     labels and LS_MAX_LABEL_BYTES bytes. It leaves out a label that does not fit; it never cuts
//     one. Each limit has its flag.
//   - An element without a key is skipped. A key without a value is left out and flagged.
//   - Of equal keys the first counts.
//   - One unreadable byte makes the whole observation unreadable. Half a set is never reported.
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

// Applies every recipe of a process to one thread and merges the results. The thread is labelled if
// any publisher has labels for it.
Observation observe(std::span<const ls_tls_recipe> recipes, Address thread_pointer,
                    const MemorySource& memory);

// Adds one publisher's observation to `total`. `first`: it is the first publisher's, and `total` is
// default-constructed.
void merge_observation(Observation& total, Observation&& one, bool first);

}  // namespace labelscope
