#include "cli/step/tracee.h"

#include <elf.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#if defined(__aarch64__)
#include <asm/ptrace.h>
#endif

namespace labelscope::cli {
namespace {

using KernelRegisters = user_regs_struct;  // aarch64: regs[31], sp, pc, pstate

bool read_registers(Tid tid, KernelRegisters& registers) {
  iovec io{&registers, sizeof registers};
  return ::ptrace(PTRACE_GETREGSET, raw(tid), NT_PRSTATUS, &io) == 0;
}

#if defined(__x86_64__)
auto& pc_of(KernelRegisters& registers) { return registers.rip; }
// The kernel reports int3 with SI_KERNEL. TRAP_BRKPT is the end of a stepped system call.
constexpr int kBreakpointTrap = SI_KERNEL;
constexpr int kStepTrap = TRAP_BRKPT;
#else
auto& pc_of(KernelRegisters& registers) { return registers.pc; }
constexpr int kBreakpointTrap = TRAP_BRKPT;
constexpr int kStepTrap = SI_USER;  // also the end of a system call; no process has sent it
#endif
// The kernel reports a handler's first instruction with the signal's number as the code.
constexpr int kHandlerEntered = SIGTRAP;
constexpr int kHardwareTrap = 4;  // code TRAP_HWBKPT, which not every libc's header has

Stop explain_trap(Tid tid) {
  siginfo_t trap{};
  if (::ptrace(PTRACE_GETSIGINFO, raw(tid), nullptr, &trap) != 0) return {Stop::Kind::kStep};
  const int code = trap.si_code;
  const bool stepped_call =
      code == kStepTrap && (code > 0 || (trap.si_pid == 0 && trap.si_uid == 0));
  if (code == TRAP_TRACE || stepped_call) return {Stop::Kind::kStep};
  if (code == kHandlerEntered) return {Stop::Kind::kHandler};
  if (code == kBreakpointTrap) return {Stop::Kind::kBreakpoint, SIGTRAP};
  if (code == kHardwareTrap) return {Stop::Kind::kWatchpoint};
  return {Stop::Kind::kSignal, SIGTRAP};  // another process has sent the signal
}

Stop explain_event(int event, int signal) {
  switch (event) {
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
      return {Stop::Kind::kChild};
    case PTRACE_EVENT_EXEC:
      return {Stop::Kind::kExec};
    case PTRACE_EVENT_EXIT:
      return {Stop::Kind::kEnding};
    default:
      break;
  }
  const bool group_stop =
      signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  return {group_stop ? Stop::Kind::kGroupStop : Stop::Kind::kInterrupted};
}

}  // namespace

#if defined(__x86_64__)

std::optional<Position> read_position(Tid tid) {
  KernelRegisters registers;
  if (!read_registers(tid, registers)) return std::nullopt;
  return Position{registers.rip,
                  registers.rsp,
                  0,
                  registers.rax,
                  {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8}};
}

// A call pushes the return address; a return pops it.
CallSite call_site_at_entry(const Position& position, Address stack_word) {
  return {stack_word, position.sp + sizeof(Address)};
}

bool has_left(const CallSite& call, const Position& position) {
  return position.sp >= call.caller_sp;
}

namespace {

constexpr std::size_t kControl = 7;

bool write_debug_register(Tid tid, std::size_t index, Address value) {
  const std::size_t offset = offsetof(struct user, u_debugreg) + index * sizeof(Address);
  return ::ptrace(PTRACE_POKEUSER, raw(tid), offset, value) == 0;
}

// Bits that enable it for this thread, for writes of eight bytes.
Address control_bits(std::size_t index) {
  constexpr Address kWrites = 1;
  constexpr Address kEightBytes = 2;
  return (Address{1} << (2 * index)) | ((kWrites | kEightBytes << 2) << (16 + 4 * index));
}

}  // namespace

bool watch_words(Tid tid, std::span<const Address> addresses) {
  // Turn it off first: the kernel checks addresses and control bits against each other.
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

std::optional<Position> read_position(Tid tid) {
  KernelRegisters registers;
  if (!read_registers(tid, registers)) return std::nullopt;
  const auto& x = registers.regs;
  return Position{registers.pc, registers.sp, x[30], x[8], {x[0], x[1], x[2], x[3], x[4]}};
}

// A call leaves the stack alone, and a leaf function may never touch it.
CallSite call_site_at_entry(const Position& position, Address /*stack_word*/) {
  return {position.link, position.sp};
}

bool has_left(const CallSite& call, const Position& position) {
  if (position.sp != call.caller_sp) return position.sp > call.caller_sp;
  return position.pc == call.return_address;
}

bool watch_words(Tid tid, std::span<const Address> addresses) {
  user_hwdebug_state state{};
  iovec io{&state, sizeof state};
  if (::ptrace(PTRACE_GETREGSET, raw(tid), NT_ARM_HW_WATCH, &io) != 0) return false;
  const std::size_t slots = std::min<std::size_t>(state.dbg_info & 0xFF, kMaxWatchpoints);
  if (slots == 0) return false;
  // Bits that enable it in user mode, for stores to all eight bytes.
  constexpr std::uint32_t kControl = 1U | 2U << 1 | 2U << 3 | 0xFFU << 5;
  for (std::size_t i = 0; i < slots; ++i) {
    const bool used = i < addresses.size();
    state.dbg_regs[i].addr = used ? addresses[i] & ~Address{7} : 0;
    state.dbg_regs[i].ctrl = used ? kControl : 0;
  }
  io.iov_len = offsetof(user_hwdebug_state, dbg_regs) + slots * sizeof state.dbg_regs[0];
  return ::ptrace(PTRACE_SETREGSET, raw(tid), NT_ARM_HW_WATCH, &io) == 0;
}

#endif

bool watchpoints_report() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
  const char* hidden = std::getenv("LABELSCOPE_NO_WATCHPOINTS");
  if (hidden != nullptr && *hidden != '\0') return false;
  alignas(8) static volatile std::uint64_t word = 0;
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    word = 1;
    ::_exit(0);
  }
  int status = 0;
  const auto stops_with = [&](int signal) {
    while (::waitpid(child, &status, __WALL) < 0) {
      if (errno != EINTR) return false;
    }
    return WIFSTOPPED(status) && WSTOPSIG(status) == signal;
  };
  const Address address = reinterpret_cast<Address>(&word);
  const bool works = stops_with(SIGSTOP) && watch_words(Tid{child}, {&address, 1}) &&
                     ::ptrace(PTRACE_CONT, child, nullptr, nullptr) == 0 && stops_with(SIGTRAP);
  if (WIFSTOPPED(status)) {
    ::kill(child, SIGKILL);
    stops_with(0);
  }
  return works;
}

bool write_pc(Tid tid, Address pc) {
  KernelRegisters registers;
  if (!read_registers(tid, registers)) return false;
  pc_of(registers) = pc;
  iovec io{&registers, sizeof registers};
  return ::ptrace(PTRACE_SETREGSET, raw(tid), NT_PRSTATUS, &io) == 0;
}

CallSite call_site_of(const Position& before, std::size_t instruction_size) {
  return {before.pc + instruction_size, before.sp};
}

namespace {

// A system call that waits, and its argument that limits the time. With a time of 0 it does not
// wait; if the argument is a null pointer, it waits for ever.
struct WaitingCall {
  enum class Time { kMilliseconds, kPointer };
  std::uint64_t number;
  Time time;
  std::size_t argument;
};

constexpr WaitingCall kWaitingCalls[] = {
    {SYS_nanosleep, WaitingCall::Time::kPointer, 0},
    {SYS_clock_nanosleep, WaitingCall::Time::kPointer, 2},
    {SYS_ppoll, WaitingCall::Time::kPointer, 2},
    {SYS_pselect6, WaitingCall::Time::kPointer, 4},
    {SYS_epoll_pwait, WaitingCall::Time::kMilliseconds, 3},
#if defined(__x86_64__)
    // Other processors never had these.
    {SYS_poll, WaitingCall::Time::kMilliseconds, 2},
    {SYS_select, WaitingCall::Time::kPointer, 4},
    {SYS_epoll_wait, WaitingCall::Time::kMilliseconds, 3},
#endif
};

}  // namespace

bool is_waiting_call(const Position& position, const MemorySource& memory) {
#if defined(__x86_64__)
  if (position.call_number == SYS_pause) return true;  // elsewhere it is ppoll() without a time
#endif
  const auto* call = std::ranges::find(kWaitingCalls, position.call_number, &WaitingCall::number);
  if (call == std::end(kWaitingCalls)) return false;
  const std::uint64_t time = position.call_arguments[call->argument];
  if (call->time == WaitingCall::Time::kMilliseconds) return static_cast<std::uint32_t>(time) != 0;
  if (time == 0) return true;
  // The time is in seconds, followed by nanoseconds.
  const auto length = read_value<std::array<std::uint64_t, 2>>(memory, time);
  return length && *length != std::array<std::uint64_t, 2>{};
}

bool resume_thread(Tid tid, Resume how, int signal) {
  const auto request = how == Resume::kStep ? PTRACE_SINGLESTEP : PTRACE_CONT;
  return ::ptrace(request, raw(tid), nullptr, static_cast<long>(signal)) == 0;
}

bool resume_into_call(Tid tid) { return ::ptrace(PTRACE_SYSCALL, raw(tid), nullptr, nullptr) == 0; }

Stop explain_stop(Tid tid, int wait_status) {
  if (!WIFSTOPPED(wait_status)) return {Stop::Kind::kEnded};
  const int signal = WSTOPSIG(wait_status);
  const int event = wait_status >> 16;
  if (event != 0) return explain_event(event, signal);
  if (signal == SIGTRAP) return explain_trap(tid);
  return {Stop::Kind::kSignal, signal};
}

Kin kin_of(Tid tid, Pid program) {
  if (::syscall(SYS_tgkill, raw(program), raw(tid), 0) == 0 || errno != ESRCH) return Kin::kThread;
  const long order = ::syscall(SYS_kcmp, raw(tid), raw(program), KCMP_VM, 0, 0);
  if (order < 0 && errno == ESRCH && ::kill(raw(tid), 0) != 0) return Kin::kGone;
  return order > 0 ? Kin::kOther : Kin::kSharesMemory;
}

long trace_options() {
  return PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
         PTRACE_O_TRACEEXEC;
}

bool stop_at_end(Tid tid) {
  return ::ptrace(PTRACE_SETOPTIONS, raw(tid), nullptr, trace_options() | PTRACE_O_TRACEEXIT) == 0;
}

void unblock_traps(Tid tid) {
  std::uint64_t mask = 0;
  constexpr std::uint64_t kTraps = std::uint64_t{1} << (SIGTRAP - 1);
  if (::ptrace(PTRACE_GETSIGMASK, raw(tid), sizeof mask, &mask) != 0) return;
  if ((mask & kTraps) == 0) return;
  mask &= ~kTraps;
  ::ptrace(PTRACE_SETSIGMASK, raw(tid), sizeof mask, &mask);
}

}  // namespace labelscope::cli
