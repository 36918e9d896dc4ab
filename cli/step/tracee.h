// One thread under ptrace: where it is, how it goes on, and why it has stopped. The ptrace calls of
// stepping, and the differences between the two processors, are here and nowhere else.
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

// The registers that say where a thread is.
struct Position {
  Address pc = 0;
  Address sp = 0;
  Address link = 0;               // aarch64: x30, the return address at the entry of a function
  std::uint64_t call_number = 0;  // rax or x8: in front of a system call, which one it is
  std::array<std::uint64_t, 5> call_arguments{};  // likewise, the first ones
};

std::optional<Position> read_position(Tid tid);
// `position`: in front of a system call. Whether the thread makes this call to sleep, or to wait
// for something outside of the program. Not if the time to wait is 0: that only asks. Not for
// futex(): it waits for other threads, and a lock in the middle of an update does so, too.
bool is_waiting_call(const Position& position, const MemorySource& memory);
bool write_pc(Tid tid, Address pc);

// Where a function returns to and the stack pointer that its caller then has, at its very first
// instruction. `stack_word` is what lies at the top of the stack.
struct CallSite {
  Address return_address = 0;
  Address caller_sp = 0;
};
CallSite call_site_at_entry(const Position& position, Address stack_word);
// The same for a call that was executed at `before`, whose instruction has this size.
CallSite call_site_of(const Position& before, std::size_t instruction_size);
// Whether a thread at `position` has left a function that was called like this: by return, or
// because its stack was unwound.
bool has_left(const CallSite& call, const Position& position);

enum class Resume { kRun, kStep };
bool resume_thread(Tid tid, Resume how, int signal);
// Lets the thread run until the system call in front of it has begun. There it stops as after a
// step.
bool resume_into_call(Tid tid);

// What a stop means, from a status of waitpid().
struct Stop {
  enum class Kind {
    kEnded,       // exited or killed
    kStep,        // one instruction was executed
    kHandler,     // stepped into the first instruction of a signal handler
    kBreakpoint,  // a breakpoint instruction
    kWatchpoint,
    kSignal,       // on the way to `signal`
    kGroupStop,    // job control: stays stopped until SIGCONT
    kInterrupted,  // by PTRACE_INTERRUPT, or a thread's first stop
    kEnding,       // its last stop, with its memory still there
    kChild,        // it has made a thread or a process
    kExec,
  };
  Kind kind = Kind::kEnded;
  int signal = 0;
};
Stop explain_stop(Tid tid, int wait_status);

// Whose a new tracee is.
enum class Kin {
  kThread,        // a thread of the program
  kSharesMemory,  // of another process in the program's memory, or the kernel does not tell
  kOther,         // of another process
  kGone,
};
Kin kin_of(Tid tid, Pid program);

// The options with which every tracee is seized.
long trace_options();
// From now on the thread, and those that it starts, stop once more before they end. This is no
// option of the beginning: a program that cannot be executed ends early, while nobody waits for its
// stops. The thread must be stopped.
bool stop_at_end(Tid tid);
// Unblocks SIGTRAP, until the handler that the thread has just entered returns: a trap while it is
// blocked makes the kernel forget the program's own handler of it. The thread must be stopped.
void unblock_traps(Tid tid);

// Hardware watchpoints. x86-64 has so many, and so have nearly all aarch64 processors. The least
// there is two.
inline constexpr std::size_t kMaxWatchpoints = 4;
// From now on the thread stops when it writes to the eight aligned bytes at one of these addresses
// (at most kMaxWatchpoints), and no longer at any others. If the processor has fewer watchpoints,
// the first addresses count. False: the processor or the kernel cannot.
bool watch_words(Tid tid, std::span<const Address> addresses);
// Whether a thread that is watched does stop. Under some hypervisors debug registers can be set and
// never report anything. A child of ours shows it. False, too, where LABELSCOPE_NO_WATCHPOINTS is
// set in the environment: so each machine can show what becomes of a check without them.
bool watchpoints_report();

#if defined(__x86_64__)
// After a breakpoint: the distance from the breakpoint instruction to the program counter.
inline constexpr Address kTrapAdvance = 1;
// x86-64 stops after the instruction that writes to a watched word, aarch64 before it. There the
// thread must execute it with the watchpoints off.
inline constexpr bool kWatchTrapsBefore = false;
#else
inline constexpr Address kTrapAdvance = 0;
inline constexpr bool kWatchTrapsBefore = true;
#endif

}  // namespace labelscope::cli
