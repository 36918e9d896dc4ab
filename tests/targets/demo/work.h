// The work of the demo service's requests: real work in functions that a profile can name. Each
// call takes some tenths of a millisecond of CPU time, and its result depends on all of it.
#pragma once

#include <cstdint>

namespace demo {

// Ranks documents for a query: generates texts, counts words, scores, sorts.
std::uint64_t search(std::uint64_t seed);

// Takes an order: writes it as text, parses it again, sums it up, signs it.
std::uint64_t checkout(std::uint64_t seed);

}  // namespace demo
