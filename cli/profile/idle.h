// Threads that wait for work have most of the time in which threads do not run, and say nothing of
// a service that is slow. In a program that sets labels they differ from the others: a thread that
// waits for the next request has no label, and waits in a call that is made for that (epoll_wait,
// accept, a futex of a queue, a sleep between two rounds). A request that waits has its labels.
//
// Where no sample and no wait has a label, nothing shows the difference, and nothing is idle.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/profile/value_types.h"

namespace labelscope::cli {

enum class IdleMode {
  kShow,  // like all other waits
  kFold,  // one line: without stacks, and with wait=idle
  kDrop,  // not at all
};

// What was done, in samples and their time.
struct IdleTime {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

// Finds rows of waits for work. A label set is looked at once, whichever rows have it.
class IdleRows {
 public:
  enum class What { kWaitsForWork, kFolded };  // as they are recorded, or as kFold makes them
  IdleRows(const Profile& profile, What what);
  // `row` is a SampleRow, a WaitRow or a BlameRow.
  bool contains(const auto& row) const {
    const KindOfSamples* kind = kind_of_value(profile_.values[row.value]);
    return kind != nullptr && kind->kind == LS_WAITING && row.outcome == LS_UNLABELLED &&
           row.label_set != kNoIndex && is_idle_[row.label_set];
  }

 private:
  const Profile& profile_;
  std::vector<bool> is_idle_;  // by label set
};

// Returns the profile as it is shown, or nothing if that is the profile itself. With kDrop, the
// ledger has only what is left.
std::optional<Profile> without_idle(const Profile& profile, IdleMode mode, IdleTime& idle);

}  // namespace labelscope::cli
