// Labels as bytes: equal labels are equal bytes (Sample::label_key).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "labelscope/label.h"

namespace labelscope {

void append_label_key(const LabelSet& labels, std::vector<std::byte>& key);
// Labelled with them, or unlabelled where there are none. Sets no flags.
Observation decode_plain_labels(std::span<const std::byte> key);

}  // namespace labelscope
