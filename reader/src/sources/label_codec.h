// These are the steps of labels from where they were read to a profile.
//
//   label blocks (label_blocks.h) --+
//                                   +--> label bytes: equal for equal labels --> labels
//   LabelSet, read without BPF -----+      (most samples end here: the bytes are known)
//
// Decoding applies the rules for which a BPF program has no room: the first of equal keys of one
// publisher counts, publishers are merged, and the bytes of a source that sends no words are given
// to it. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/label_blocks.h"
#include "labelscope/observe.h"
#include "labelscope/result.h"

namespace labelscope {

// The labels of a record, checked. This is a view of its bytes.
struct WireLabels {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  ls_label_cursor start{};  // before the first label
};

// `bytes` are exactly a ls_label_head and what follows it. Fails with kMalformed if they contradict
// themselves.
Result<WireLabels> open_labels(std::span<const std::byte> bytes);

// Appends label bytes, without the gaps of the blocks.
void append_label_bytes(const WireLabels& labels, std::vector<std::byte>& bytes);
void append_label_bytes(const LabelSet& labels, std::vector<std::byte>& bytes,
                        ls_source source = {});  // any that sends words

// Does what observe() does, but with label bytes in place of labels. What they mean is found out
// later, when the thread is no longer held.
Observation observe_as_bytes(std::span<const ls_tls_recipe> recipes, const ThreadState& thread,
                             const MemorySource& memory, std::vector<std::byte>& bytes);

// The result is labelled; unlabelled if there are no bytes; unreadable if raw bytes give no label.
// `flags` has only what decoding finds (LS_DUPLICATE_KEY, LS_KEY_CONFLICT, LS_UNKNOWN_KEY, ...);
// add the sample's. The meanings are those of the process that the bytes are from.
Observation decode_label_bytes(std::span<const std::byte> bytes, const Meanings& by = {});

// Returns outcome, flags and labels at once.
Observation observation_of(const WireLabels& labels, const Meanings& by = {});

}  // namespace labelscope
