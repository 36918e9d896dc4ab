// Rows of a profile as formats need them: checked once, and equal ones added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// The publishers of a process and the process itself can set this many.
inline constexpr std::size_t kMostLabels = std::size_t{LS_MAX_LABELS} * (LS_MAX_PUBLISHERS + 1);

// Succeeds if every index is inside its table or kNoIndex (a missing row, stack or module), and no
// label set is longer than a process can have. kMalformed names the first fault. All other
// functions in this folder rely on it.
Status check_tables(const Profile& profile);

// Counts the rows of a profile whose recording had no ledger.
Ledger ledger_of_rows(const Profile& profile);

// The parts by which aggregated rows differ. Parts that are left out are the same in all rows.
struct RowParts {
  bool stack = true;
  bool label_set = true;
  std::uint16_t flags = UINT16_MAX;  // the flags that matter
  bool stacks_first = false;         // orders the rows of a label set by stack, and then by thread
};

// Merges rows that differ in nothing else, and drops their times. The result is ordered by label
// set, then thread, then stack: the part that is costly to render changes least often.
std::vector<SampleRow> aggregate_rows(const Profile& profile, const RowParts& parts);
// Shows the same rows one after the other, without a copy of them all. A profile may have millions.
void visit_aggregated_rows(const Profile& profile, const RowParts& parts,
                           const std::function<void(const SampleRow&)>& visit);

}  // namespace labelscope::cli
