// Whether a profile has so many label sets that viewers get slow, and which key is to blame.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Above this, `go tool pprof` and the viewers built on it take minutes.
inline constexpr std::size_t kManyLabelSets = 10'000;

struct ManyLabelSets {
  std::size_t sets = 0;     // that samples have
  std::string key;          // the one without which there would be the fewest
  std::size_t values = 0;   // that it has
  std::size_t without = 0;  // sets without it
};

// Nothing where there are no more than kManyLabelSets.
std::optional<ManyLabelSets> many_label_sets(const Profile& profile);

}  // namespace labelscope::cli
