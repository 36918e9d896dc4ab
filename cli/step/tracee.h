// One thread under ptrace: its position, how it is resumed, and why it has stopped. The ptrace
// calls of stepping, and the differences between the two processors, are here and nowhere else.
//
// Sources: ptrace(2); psABI x86-64 and AAPCS64 for what a call leaves on the stack or in a
// register; for watchpoints the processors' manuals (Intel SDM volume 3, "Debug registers"; Arm
// ARM, DBGWCR<n>_EL1). All of it must be called on the thread that seized the tracee.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope::cli {

// The registers that determine where a thread is.
struct Position {
  Address pc = 0;
  Address sp = 0;
  Address link = 0;               // aarch64: x30, the return address at the entry of a function
  std::uint64_t call_number = 0;  // rax or x8: the number of a system call that is about to begin
  std::array<std::uint64_t, 5> call_arguments{};  // the first arguments of that call
};

std::optional<Position> read_position(Tid tid);
// Returns whether a thread that is about to begin a system call at `position` makes it to sleep, or
// to wait for something outside of the program. False if the time to wait is 0, which only polls.
// False for futex(), which waits for other threads: a lock in the middle of an update does so, too.
bool is_waiting_call(const Position& position, const MemorySource& memory);
bool write_pc(Tid tid, Address pc);

// At the very first instruction of a function: its return address, and the stack pointer that its
// caller has after the return. `stack_word` is the word at the top of the stack.
struct CallSite {
  Address return_address = 0;
  Address caller_sp = 0;
};
CallSite call_site_at_entry(const Position& position, Address stack_word);
// Returns the same for a call that was executed at `before` by an instruction of this size.
CallSite call_site_of(const Position& before, std::size_t instruction_size);
// Returns whether a thread at `position` has left a function that was called like this: by return,
// or because its stack was unwound.
bool has_left(const CallSite& call, const Position& position);

enum class Resume { kRun, kStep };
bool resume_thread(Tid tid, Resume how, int signal);
// Lets the thread run until the system call that is next has begun. There it stops as after a step.
bool resume_into_call(Tid tid);

// The meaning of a stop, from a status of waitpid().
struct Stop {
  enum class Kind {
    kEnded,       // exited or killed
    kStep,        // one instruction was executed
    kHandler,     // stepped into the first instruction of a signal handler
    kBreakpoint,  // a breakpoint instruction
    kWatchpoint,
    kSignal,       // about to receive `signal`
    kGroupStop,    // job control: stays stopped until SIGCONT
    kInterrupted,  // stopped by PTRACE_INTERRUPT, or a thread's first stop
    kEnding,       // its last stop, with its memory still there
    kChild,        // it has made a thread or a process
    kExec,
  };
  Kind kind = Kind::kEnded;
  int signal = 0;
};
Stop explain_stop(Tid tid, int wait_status);

// The relation of a new tracee to the program.
enum class Kin {
  kThread,        // a thread of the program
  kSharesMemory,  // a thread of another process in the program's memory, or of an unknown one
  kOther,         // a thread of another process
  kGone,
};
Kin kin_of(Tid tid, Pid program);

// Every tracee is seized with these options.
long trace_options();
// Makes the thread, and those that it starts, stop once more before they end. This is not among
// trace_options(): a program that cannot be executed ends early, while its stops are not handled.
// The thread must be stopped.
bool stop_at_end(Tid tid);
// Unblocks SIGTRAP until the handler that the thread has just entered returns. If a trap came while
// it is blocked, the kernel would reset the program's own handler for it. The thread must be
// stopped.
void unblock_traps(Tid tid);

// The number of hardware watchpoints of x86-64 and of nearly all aarch64 processors; some of the
// latter have only two.
inline constexpr std::size_t kMaxWatchpoints = 4;
// Makes the thread stop when it writes to the eight aligned bytes at one of these addresses (at
// most kMaxWatchpoints), and at no others. If the processor has fewer watchpoints, the first
// addresses count. Returns false if the processor or the kernel does not support it.
bool watch_words(Tid tid, std::span<const Address> addresses);
// Returns whether a watched thread really stops. Under some hypervisors debug registers can be set
// and never report anything. A child of ours shows it. It is also false if
// LABELSCOPE_NO_WATCHPOINTS is set in the environment, so that a check without watchpoints can be
// tested on each machine.
bool watchpoints_report();

#if defined(__x86_64__)
// After a breakpoint: the distance from the breakpoint instruction to the program counter.
inline constexpr Address kTrapAdvance = 1;
// x86-64 stops after the instruction that writes to a watched word, aarch64 before it. On aarch64
// the thread must execute it with the watchpoints off.
inline constexpr bool kWatchTrapsBefore = false;
#else
inline constexpr Address kTrapAdvance = 0;
inline constexpr bool kWatchTrapsBefore = true;
#endif

}  // namespace labelscope::cli
