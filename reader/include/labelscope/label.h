// These are labels as values: what was read from one thread, and the outcome of reading.
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

// Keys and values are bytes, not text: code that prints them must escape them.
struct Label {
  std::string key;
  std::string value;
  std::uint8_t publisher = 0;  // index of the publisher that it came from

  friend bool operator==(const Label&, const Label&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 finds one in a defaulted comparison
  friend auto operator<=>(const Label&, const Label&) = default;
};

// Labels in the order in which their keys first appear; each key is there once for each publisher.
using LabelSet = std::vector<Label>;

struct Observation {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;  // of enum ls_sample_flag
  LabelSet labels;          // empty unless outcome is LS_LABELLED
};

// Returns one word for machines ("labelled", "unlabelled", "not-resident", ...); "unknown" for a
// number outside the enumeration.
std::string_view outcome_name(unsigned outcome);
// Returns a clause for people: "the page is not in memory".
std::string_view outcome_text(unsigned outcome);
constexpr bool is_unreadable(unsigned outcome) { return outcome > LS_UNLABELLED; }

// Drops all but the first of equal keys; sets LS_DUPLICATE_KEY in `flags` if there were any.
void keep_first_keys(LabelSet& labels, std::uint32_t& flags);

// Adds one publisher's observation to `total`. For the first publisher, `first` is true and `total`
// is default-constructed.
void merge_observation(Observation& total, Observation&& one, bool first);

}  // namespace labelscope
