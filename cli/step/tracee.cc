#include "cli/step/tracee.h"

#include <elf.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace labelscope::cli {
namespace {

using KernelRegisters = user_regs_struct;  // aarch64: regs[31], sp, pc, pstate

bool read_registers(Tid tid, KernelRegisters& registers) {
  iovec io{&registers, sizeof registers};
  return ::ptrace(PTRACE_GETREGSET, raw(tid), NT_PRSTATUS, &io) == 0;
}

bool write_registers(Tid tid, KernelRegisters& registers) {
  iovec io{&registers, sizeof registers};
  return ::ptrace(PTRACE_SETREGSET, raw(tid), NT_PRSTATUS, &io) == 0;
}

#if defined(__x86_64__)
// The kernel reports int3 with SI_KERNEL. TRAP_BRKPT is the end of a stepped system call.
constexpr int kBreakpointTrap = SI_KERNEL;
constexpr int kStepTrap = TRAP_BRKPT;
#else
constexpr int kBreakpointTrap = TRAP_BRKPT;
constexpr int kStepTrap = SI_USER;  // also the end of a system call; no process has sent it
#endif
// The kernel reports a handler's first instruction with the signal's number as the code.
constexpr int kHandlerEntered = SIGTRAP;
constexpr int kHardwareTrap = 4;  // TRAP_HWBKPT, which not every libc's header has

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
  return {Stop::Kind::kSignal, SIGTRAP};  // a process has sent it
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

bool write_pc(Tid tid, Address pc) {
  KernelRegisters registers;
  if (!read_registers(tid, registers)) return false;
  registers.rip = pc;
  return write_registers(tid, registers);
}

// A call pushes the return address; a return pops it.
CallSite call_site_at_entry(const Position& position, Address stack_word) {
  return {stack_word, position.sp + sizeof(Address)};
}

bool has_left(const CallSite& call, const Position& position) {
  return position.sp >= call.caller_sp;
}

#elif defined(__aarch64__)

std::optional<Position> read_position(Tid tid) {
  KernelRegisters registers;
  if (!read_registers(tid, registers)) return std::nullopt;
  const auto& x = registers.regs;
  return Position{registers.pc, registers.sp, x[30], x[8], {x[0], x[1], x[2], x[3], x[4]}};
}

bool write_pc(Tid tid, Address pc) {
  KernelRegisters registers;
  if (!read_registers(tid, registers)) return false;
  registers.pc = pc;
  return write_registers(tid, registers);
}

// A call leaves the stack alone, and a leaf function may never touch it.
CallSite call_site_at_entry(const Position& position, Address /*stack_word*/) {
  return {position.link, position.sp};
}

bool has_left(const CallSite& call, const Position& position) {
  if (position.sp != call.caller_sp) return position.sp > call.caller_sp;
  return position.pc == call.return_address;
}

#endif

CallSite call_site_of(const Position& before, std::size_t instruction_size) {
  return {before.pc + instruction_size, before.sp};
}

namespace {

// The argument of a system call that tells how long it waits. With a time of 0 it does not wait. If
// the argument is a null pointer, it waits for ever.
struct CallTime {
  enum class Kind { kNone, kMilliseconds, kPointer };
  Kind kind = Kind::kNone;
  std::size_t argument = 0;
};

std::optional<CallTime> time_of_waiting_call(std::uint64_t call_number) {
  using Kind = CallTime::Kind;
  switch (call_number) {
    case SYS_nanosleep:
      return CallTime{Kind::kPointer, 0};
    case SYS_clock_nanosleep:
    case SYS_ppoll:
      return CallTime{Kind::kPointer, 2};
    case SYS_pselect6:
      return CallTime{Kind::kPointer, 4};
    case SYS_epoll_pwait:
      return CallTime{Kind::kMilliseconds, 3};
#if defined(__x86_64__)
    // Others never had these.
    case SYS_poll:
      return CallTime{Kind::kMilliseconds, 2};
    case SYS_select:
      return CallTime{Kind::kPointer, 4};
    case SYS_epoll_wait:
      return CallTime{Kind::kMilliseconds, 3};
    case SYS_pause:
      return CallTime{};
#endif
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_waiting_call(const Position& position, const MemorySource& memory) {
  const auto time = time_of_waiting_call(position.call_number);
  if (!time) return false;
  const std::uint64_t argument = position.call_arguments[time->argument];
  switch (time->kind) {
    case CallTime::Kind::kNone:
      return true;
    case CallTime::Kind::kMilliseconds:
      return static_cast<std::uint32_t>(argument) != 0;
    case CallTime::Kind::kPointer:
      break;
  }
  if (argument == 0) return true;
  // Seconds, then the rest of one.
  const auto length = read_value<std::array<std::uint64_t, 2>>(memory, argument);
  return length && ((*length)[0] != 0 || (*length)[1] != 0);
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

}  // namespace labelscope::cli
