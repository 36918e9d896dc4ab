// For IndexTable: when two entries of a profile's tables are equal.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// The bytes come from targets: one that knew the hash function could make all its label sets
// collide.
std::uint64_t hash_of_bytes(std::string_view bytes);
std::uint64_t hash_of(const LabelSet& labels);
std::uint64_t hash_of(const Stack& stack);

// For rows without a time.
std::uint64_t hash_of(const SampleRow& row);
bool same_row(const SampleRow& a, const SampleRow& b);

}  // namespace labelscope::cli
