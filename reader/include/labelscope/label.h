// Labels as values: what was read from one thread, and what became of the reading.
#pragma once

#if __cplusplus < 202002L
#error "the C++ headers of labelscope need C++20 (-std=c++20); labelscope/labelscope.h is for C"
#endif

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/outcome.h"

namespace labelscope {

// Keys and values are bytes, not text: whoever prints them escapes them.
struct Label {
  std::string key;
  std::string value;
  std::uint8_t publisher = 0;  // index of the publisher of the process that it came from

  friend bool operator==(const Label&, const Label&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 finds one in a defaulted comparison
  friend auto operator<=>(const Label&, const Label&) = default;
};

// Labels in the order of their keys' first appearance; each key once for each publisher.
using LabelSet = std::vector<Label>;

struct Observation {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;  // of enum ls_sample_flag
  LabelSet labels;          // empty unless outcome is LS_LABELLED
};

// One word for machines ("labelled", "unlabelled", "not-resident", ...); "unknown" for a number
// outside the enumeration.
std::string_view outcome_name(unsigned outcome);
// A clause for people: "the page is not in memory".
std::string_view outcome_text(unsigned outcome);
constexpr bool is_unreadable(unsigned outcome) { return outcome > LS_UNLABELLED; }

// Drops all but the first of equal keys; sets LS_DUPLICATE_KEY in `flags` if there were any.
void keep_first_keys(LabelSet& labels, std::uint32_t& flags);

// Adds one publisher's observation to `total`. `first`: it is the first publisher's, and `total` is
// default-constructed.
void merge_observation(Observation& total, Observation&& one, bool first);

}  // namespace labelscope
