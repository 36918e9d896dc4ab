// Labels on their way from where they were read to a profile.
//
//   label blocks (label_blocks.h) --+
//                                   +--> label key: bytes, equal for equal labels --> labels
//   LabelSet, read without BPF -----+        (most samples end here: the key is known)
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

// Appends a label key, without the gaps of the blocks.
void append_label_key(const WireLabels& labels, std::vector<std::byte>& key);
void append_label_key(const LabelSet& labels, std::vector<std::byte>& key);

// Labelled, or unlabelled where the key has no labels. `flags` has only what decoding finds
// (LS_DUPLICATE_KEY, LS_KEY_CONFLICT); add the sample's.
Observation decode_label_key(std::span<const std::byte> key);

// Outcome, flags and labels at once.
Observation observation_of(const WireLabels& labels);

}  // namespace labelscope
