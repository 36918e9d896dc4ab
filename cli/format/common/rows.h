// Rows of a profile as the formats need them: checked once, and equal ones added up.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// As many as the publishers of a process can set, and those of the process itself.
inline constexpr std::size_t kMostLabels = std::size_t{LS_MAX_LABELS} * (LS_MAX_PUBLISHERS + 1);

// Every index is inside its table or kNoIndex (where a row, stack or module is missing), and no
// label set is longer than a process can have. kMalformed names the first thing that is not so.
// Everything else in this folder relies on it.
Status check_tables(const Profile& profile);

// The ledger of the profile's rows, for profiles of which nobody counted what was taken.
Ledger ledger_of_rows(const Profile& profile);

// What tells one aggregated row from another; the parts left out are the same in all rows.
struct RowParts {
  bool stack = true;
  bool label_set = true;
  std::uint16_t flags = UINT16_MAX;  // the flags that matter
};

// The rows in which those that differ in nothing else are one, without their moments in time.
// Ordered by label set, then thread, then stack: what is costly to render changes least often.
std::vector<SampleRow> aggregate_rows(const Profile& profile, const RowParts& parts);

}  // namespace labelscope::cli
