// Threads that wait for work have most of the time in which threads do not run, and say nothing of
// a service that is slow. In a program that sets labels they differ from the others: a thread that
// waits for the next request has no label, and waits in a call that is made for that (epoll_wait,
// accept, a futex of a queue, a sleep between two rounds). A request that waits has its labels.
//
// Where no sample has a label, nothing shows the difference, and nothing is idle.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/profile/profile.h"

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

// Returns the profile as it is shown, or nothing if that is the profile itself. With kDrop, the
// ledger has only what is left.
std::optional<Profile> without_idle(const Profile& profile, IdleMode mode, IdleTime& idle);

}  // namespace labelscope::cli
