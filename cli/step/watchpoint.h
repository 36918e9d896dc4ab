// Hardware watchpoints of one thread: it stops when it has written to one of a few words. Where the
// processor or the kernel has none, there are none: whoever sets them asks.
//
// Sources: ptrace(2); the processors' manuals (Intel SDM volume 3, "Debug registers"; Arm ARM,
// DBGWCR<n>_EL1).
#pragma once

#include <cstddef>
#include <span>

#include "labelscope/ids.h"

namespace labelscope::cli {

// x86-64 has so many, and nearly every aarch64; two are the least there.
inline constexpr std::size_t kMaxWatchpoints = 4;

// Watches the eight aligned bytes at each of these addresses (at most kMaxWatchpoints), and nothing
// else any more; with fewer watchpoints, at the first of them. False: they cannot be watched.
bool watch_words(Tid tid, std::span<const Address> addresses);

// x86-64 stops behind the instruction that wrote, aarch64 in front of it: there it must be executed
// with the watchpoints off.
#if defined(__aarch64__)
inline constexpr bool kWatchTrapsBefore = true;
#else
inline constexpr bool kWatchTrapsBefore = false;
#endif

}  // namespace labelscope::cli
