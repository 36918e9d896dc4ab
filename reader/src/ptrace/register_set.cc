#include "ptrace/register_set.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace labelscope {
namespace {

// The index of each DWARF register in the words of struct user_regs_struct. Register 16 is the
// return address, which is rip here.
constexpr std::array<std::size_t, 17> kX86Words{
    10, 12, 11, 5, 13, 14, 4, 19,  // rax rdx rcx rbx rsi rdi rbp rsp
    9,  8,  7,  6, 3,  2,  1, 0,   // r8 to r15
    16,                            // rip
};
constexpr std::size_t kX86FsBase = 21;
constexpr std::size_t kX86Result = 10;      // rax
constexpr std::size_t kX86CallNumber = 15;  // orig_rax; negative outside of system calls
constexpr std::size_t kX86Size = 27 * sizeof(std::uint64_t);
// The register sets of 32-bit threads: 17 and 18 words of 4 bytes.
constexpr std::size_t kI386Size = 17 * sizeof(std::uint32_t);
constexpr std::size_t kArmSize = 18 * sizeof(std::uint32_t);

// struct user_pt_regs is x0 to x30, sp, pc, pstate.
constexpr std::size_t kAarch64Pc = 32;
constexpr std::size_t kAarch64Size = 34 * sizeof(std::uint64_t);

std::uint64_t word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// Sources: the kernel's include/linux/errno.h, arch/x86/entry/syscalls/syscall_64.tbl,
// include/uapi/asm-generic/unistd.h, and do_signal() in arch/arm64/kernel/signal.c.
//
// These are ERESTARTSYS to ERESTART_RESTARTBLOCK.
constexpr std::int64_t kFirstRestart = -516;
constexpr std::int64_t kLastRestart = -512;

// These calls do nothing but wait: poll, select, pause, nanosleep, wait4, rt_sigtimedwait,
// rt_sigsuspend, futex, clock_nanosleep, epoll_wait, waitid, pselect6, ppoll, epoll_pwait,
// epoll_pwait2, futex_waitv.
constexpr std::array<std::int64_t, 16> kX86Calls{7,   23,  34,  35,  61,  128, 130, 202,
                                                 230, 232, 247, 270, 271, 281, 441, 449};
// These calls of aarch64 do nothing but wait: epoll_pwait, pselect6, ppoll, waitid, futex,
// nanosleep, clock_nanosleep, rt_sigsuspend, rt_sigtimedwait, wait4, epoll_pwait2, futex_waitv; and
// restart_syscall, by which the kernel continues some of these.
constexpr std::array<std::uint64_t, 13> kAarch64Calls{22,  72,  73,  95,  98,  101, 115,
                                                      128, 133, 137, 260, 441, 449};
constexpr std::uint32_t kSvc = 0xd4000001;

}  // namespace

bool x86_64_waited(std::int64_t call, std::int64_t result) {
  const bool interrupted = result >= kFirstRestart && result <= kLastRestart;
  return call >= 0 && (interrupted || std::ranges::binary_search(kX86Calls, call));
}

bool aarch64_waited(std::uint64_t call, std::uint32_t before_pc, std::uint32_t at_pc) {
  if (at_pc == kSvc) return true;
  return before_pc == kSvc && std::ranges::binary_search(kAarch64Calls, call);
}

std::size_t register_set_size(Machine machine) {
  return machine == Machine::kX86_64 ? kX86Size : kAarch64Size;
}

Result<RegisterSet> decode_register_set(Machine machine, std::span<const std::byte> bytes) {
  if (bytes.size() == (machine == Machine::kX86_64 ? kI386Size : kArmSize)) {
    return Error{ErrorCode::kUnsupported, "a 32-bit program: only 64-bit ones have labels"};
  }
  if (bytes.size() < register_set_size(machine)) {
    return Error{ErrorCode::kMalformed,
                 "a register set of " + std::to_string(bytes.size()) + " bytes is too short"};
  }
  RegisterSet set;
  Registers& registers = set.registers;
  registers.machine = machine;
  if (machine == Machine::kX86_64) {
    for (std::size_t i = 0; i < kX86Words.size(); ++i) {
      registers.dwarf[i] = word(bytes, kX86Words[i]);
    }
    registers.pc = registers.dwarf[16];
    set.thread_pointer = word(bytes, kX86FsBase);
    const auto call = static_cast<std::int64_t>(word(bytes, kX86CallNumber));
    const auto result = static_cast<std::int64_t>(word(bytes, kX86Result));
    set.in_waiting_call = x86_64_waited(call, result);
  } else {
    for (std::size_t i = 0; i < Registers::kMost; ++i) registers.dwarf[i] = word(bytes, i);
    registers.pc = word(bytes, kAarch64Pc);
  }
  return set;
}

}  // namespace labelscope
