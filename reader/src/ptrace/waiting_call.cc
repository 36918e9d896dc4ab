// Sources: the kernel's include/linux/errno.h, arch/x86/entry/syscalls/syscall_64.tbl,
// include/uapi/asm-generic/unistd.h, and do_signal() in arch/arm64/kernel/signal.c.
#include "ptrace/waiting_call.h"

#include <algorithm>
#include <array>

namespace labelscope {
namespace {

// ERESTARTSYS to ERESTART_RESTARTBLOCK.
constexpr std::int64_t kFirstRestart = -516;
constexpr std::int64_t kLastRestart = -512;

// Calls that do nothing but wait: poll, select, pause, nanosleep, wait4, rt_sigtimedwait,
// rt_sigsuspend, futex, clock_nanosleep, epoll_wait, waitid, pselect6, ppoll, epoll_pwait,
// epoll_pwait2, futex_waitv.
constexpr std::array<std::int64_t, 16> kX86Calls{7,   23,  34,  35,  61,  128, 130, 202,
                                                 230, 232, 247, 270, 271, 281, 441, 449};
// The calls of aarch64 that do nothing but wait: epoll_pwait, pselect6, ppoll, waitid, futex,
// nanosleep, clock_nanosleep, rt_sigsuspend, rt_sigtimedwait, wait4, epoll_pwait2, futex_waitv; and
// restart_syscall, by which the kernel continues some of these.
constexpr std::array<std::uint64_t, 13> kAarch64Calls{22,  72,  73,  95,  98,  101, 115,
                                                      128, 133, 137, 260, 441, 449};
constexpr std::uint32_t kSvc = 0xd4000001;

template <class T, std::size_t kCount>
bool contains(const std::array<T, kCount>& sorted, T number) {
  return std::binary_search(sorted.begin(), sorted.end(), number);
}

}  // namespace

bool x86_64_waited(std::int64_t call, std::int64_t result) {
  const bool interrupted = result >= kFirstRestart && result <= kLastRestart;
  return call >= 0 && (interrupted || contains(kX86Calls, call));
}

bool aarch64_waited(std::uint64_t call, std::uint32_t before_pc, std::uint32_t at_pc) {
  if (at_pc == kSvc) return true;
  return before_pc == kSvc && contains(kAarch64Calls, call);
}

}  // namespace labelscope
