// What makes two entries of a profile's tables one, for IndexTable.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Bytes come from targets: one that knew the hashes could make all its label sets collide.
std::uint64_t hash_of_bytes(std::string_view bytes);
std::uint64_t hash_of(const LabelSet& labels);
std::uint64_t hash_of(const Stack& stack);

// Of rows without a time.
std::uint64_t hash_of(const SampleRow& row);
bool same_row(const SampleRow& a, const SampleRow& b);

}  // namespace labelscope::cli
