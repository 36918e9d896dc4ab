// Finds out whether a profile has so many label sets that viewers get slow, and which key is the
// reason.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Above this, `go tool pprof` and the viewers built on it take minutes.
inline constexpr std::size_t kManyLabelSets = 10'000;

struct ManyLabelSets {
  std::size_t sets = 0;     // sets that samples have
  std::string key;          // the key without which there would be the fewest sets
  std::size_t values = 0;   // number of its values
  std::size_t without = 0;  // number of sets without it
};

// nullopt if there are no more than kManyLabelSets.
std::optional<ManyLabelSets> many_label_sets(const Profile& profile);

}  // namespace labelscope::cli
