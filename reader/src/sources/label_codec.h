// Labels on their way from where they were read to a profile.
//
//   label blocks (label_blocks.h) --+
//                                   +--> label bytes: equal for equal labels --> labels
//   LabelSet, read without BPF -----+      (most samples end here: the bytes are known)
//
// Decoding applies the rules that a BPF program has no room for: of equal keys of one publisher the
// first counts, publishers are merged, and the bytes of a source that sends no words are given to
// it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/label_blocks.h"
#include "labelscope/result.h"

namespace labelscope {

// The labels of a record, checked; a view of its bytes.
struct WireLabels {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  ls_label_cursor start{};  // before the first label
};

// `bytes`: exactly a ls_label_head and what follows it. kMalformed: they contradict themselves.
Result<WireLabels> open_labels(std::span<const std::byte> bytes);

// Appends label bytes, without the gaps of the blocks.
void append_label_bytes(const WireLabels& labels, std::vector<std::byte>& bytes);
void append_label_bytes(const LabelSet& labels, std::vector<std::byte>& bytes);

// Labelled, or unlabelled where there are no bytes. `flags` has only what decoding finds
// (LS_DUPLICATE_KEY, LS_KEY_CONFLICT); add the sample's.
Observation decode_label_bytes(std::span<const std::byte> bytes);

// Outcome, flags and labels at once.
Observation observation_of(const WireLabels& labels);

}  // namespace labelscope
