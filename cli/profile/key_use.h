// These functions count how often each label key is used. They find the key that describes a new
// profile best, and the one that makes so many label sets that viewers get slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

struct KeyUse {
  std::uint64_t samples = 0;
  std::uint64_t weight_ns = 0;
  std::set<std::string_view> values;
};

// Counts by key; the keys are the profile's own strings. A key of two publishers in one sample
// counts as one sample.
std::map<std::string_view, KeyUse> count_keys(const Profile& profile);

// Returns the key that is on most samples, of those with several values; if two are equal, the one
// with fewer values. Empty if there are no labels, or only keys with another value for each piece
// of work (a request ID).
std::string best_key(const Profile& profile);

// Above this, `go tool pprof` and the viewers built on it take minutes.
inline constexpr std::size_t kManyLabelSets = 10'000;

struct ManyLabelSets {
  std::size_t sets = 0;  // sets that samples have
  // the keys without which there would be few sets, each with the number of its values
  std::vector<std::pair<std::string, std::size_t>> keys;
  std::size_t without = 0;  // number of sets without these
};

// nullopt if there are no more than kManyLabelSets.
std::optional<ManyLabelSets> many_label_sets(const Profile& profile);

// Returns the keys without which there are at most `most` sets: those with most values.
std::vector<std::string> keys_of_many_sets(std::span<const LabelSet> sets, std::size_t most);

}  // namespace labelscope::cli
