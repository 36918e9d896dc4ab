#include "cli/step/watchpoint.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <cstdint>

#if defined(__aarch64__)
#include <asm/ptrace.h>
#endif

namespace labelscope::cli {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kControl = 7;

bool write_debug_register(Tid tid, std::size_t index, Address value) {
  const std::size_t offset = offsetof(struct user, u_debugreg) + index * sizeof(Address);
  return ::ptrace(PTRACE_POKEUSER, raw(tid), offset, value) == 0;
}

// Enabled for this thread, on writes, eight bytes.
Address control_bits(std::size_t index) {
  constexpr Address kWrites = 1;
  constexpr Address kEightBytes = 2;
  return (Address{1} << (2 * index)) | ((kWrites | kEightBytes << 2) << (16 + 4 * index));
}

}  // namespace

bool watch_words(Tid tid, std::span<const Address> addresses) {
  // Off first: the kernel checks addresses and control bits against each other.
  if (!write_debug_register(tid, kControl, 0)) return false;
  bool all = addresses.size() <= kMaxWatchpoints;
  Address control = 0;
  for (std::size_t i = 0; i < std::min(addresses.size(), kMaxWatchpoints); ++i) {
    if (write_debug_register(tid, i, addresses[i] & ~Address{7})) {
      control |= control_bits(i);
    } else {
      all = false;
    }
  }
  return (control == 0 || write_debug_register(tid, kControl, control)) && all;
}

#elif defined(__aarch64__)

namespace {

// Enabled, for user mode, on stores, all eight bytes.
constexpr std::uint32_t kControl = 1U | 2U << 1 | 2U << 3 | 0xFFU << 5;

// How many this processor has: two at least.
std::size_t available(Tid tid) {
  user_hwdebug_state state{};
  iovec io{&state, sizeof state};
  if (::ptrace(PTRACE_GETREGSET, raw(tid), NT_ARM_HW_WATCH, &io) != 0) return 0;
  return std::min<std::size_t>(state.dbg_info & 0xFF, kMaxWatchpoints);
}

}  // namespace

bool watch_words(Tid tid, std::span<const Address> addresses) {
  const std::size_t slots = available(tid);
  if (slots == 0) return false;
  user_hwdebug_state state{};
  const std::size_t count = std::min(addresses.size(), slots);
  for (std::size_t i = 0; i < count; ++i) {
    state.dbg_regs[i].addr = addresses[i] & ~Address{7};
    state.dbg_regs[i].ctrl = kControl;
  }
  iovec io{&state, offsetof(user_hwdebug_state, dbg_regs) + slots * sizeof state.dbg_regs[0]};
  return ::ptrace(PTRACE_SETREGSET, raw(tid), NT_ARM_HW_WATCH, &io) == 0;
}

#endif

}  // namespace labelscope::cli
