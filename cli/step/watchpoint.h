// Hardware watchpoints of one thread: it stops when it has written to one of a few words. The
// processor or the kernel may have none; then watch_words() says so.
//
// Sources: ptrace(2); the processors' manuals (Intel SDM volume 3, "Debug registers"; Arm ARM,
// DBGWCR<n>_EL1).
#pragma once

#include <cstddef>
#include <span>

#include "labelscope/ids.h"

namespace labelscope::cli {

// x86-64 has so many, and so have nearly all aarch64 processors. The least there is two.
inline constexpr std::size_t kMaxWatchpoints = 4;

// Watches the eight aligned bytes at each of these addresses (at most kMaxWatchpoints), and no
// longer any others. If the processor has fewer watchpoints, watches the first addresses. False: it
// cannot.
bool watch_words(Tid tid, std::span<const Address> addresses);

// x86-64 stops after the instruction that writes, aarch64 before it. There the thread must execute
// it with the watchpoints off.
#if defined(__aarch64__)
inline constexpr bool kWatchTrapsBefore = true;
#else
inline constexpr bool kWatchTrapsBefore = false;
#endif

}  // namespace labelscope::cli
