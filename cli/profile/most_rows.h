// Bounds of what a recording keeps of waits. Label sets of very many values are bounded already
// (numbered_labels.h); but each process has rows of its own, and each set may make each other one
// wait. So the rows with most time are kept:
//
//   totals   the others lose the labels that make them so many (NumberedLabels::lost_keys()), and
//            are added up by what they have left. If they are too many all the same, their time is
//            divided as samples say, like all time of unknown labels (fit_waits.h)
//   blame    the others are added up for each total: because of many others (LS_BLAME_MANY)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/profile/fit_waits.h"
#include "cli/profile/numbered_labels.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

struct WaitLimits {
  std::size_t label_sets = NumberedLabels::kMostSets;
  std::size_t totals = 131'072;
  std::size_t blame = 262'144;
};

// Both leave at most `most` rows, of which none equals another, and return how many waits have no
// row of their own any more. The time of totals that are left out is added to `unknown`.
// `without_lost` returns a label set without the lost labels; null: none are lost.
using WithoutLost = std::function<Index(Index)>;
std::uint64_t keep_largest(std::vector<WaitRow>& rows, std::size_t most, UnknownWaits& unknown,
                           const WithoutLost& without_lost = nullptr);
// Waits of which even the sum has no row are blamed on nobody.
std::uint64_t keep_largest(std::vector<BlameRow>& rows, std::size_t most);

}  // namespace labelscope::cli
