// Traces the first thread only. The program's other threads, and the processes that it forks, stay
// free for StoppedThread, which samples them.
#include "cli/check/program_hold.h"

#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "cli/host/child.h"
#include "cli/step/tracee.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"

namespace labelscope::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A program may send itself thousands of signals, and each is a stop. So after a stop, the tracer
// polls for the next one this long before it sleeps.
constexpr microseconds kAwake{100};
constexpr microseconds kStopPause{500};
// A running thread stops in microseconds, or in milliseconds if all processors are busy. A thread
// that waits for a device, or in vfork(), does not stop.
constexpr milliseconds kStopPatience{10};
constexpr std::chrono::seconds kWholePatience{1};

constexpr int kOurs = __WALL | __WNOTHREAD;

bool set_options(Pid pid, long options) {
  return ::ptrace(PTRACE_SETOPTIONS, raw(pid), nullptr, options) == 0;
}

}  // namespace

bool gains_rights(const std::string& command) {
  const std::string path = program_path(command);
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return false;
  const bool other_user = (file.st_mode & S_ISUID) != 0 && file.st_uid != ::geteuid();
  const bool other_group = (file.st_mode & S_ISGID) != 0 && file.st_gid != ::getegid();
  return other_user || other_group ||
         ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

void ProgramHold::seize() {
  traced_ = ::ptrace(PTRACE_SEIZE, raw(pid_), nullptr, PTRACE_O_TRACEEXEC) == 0;
}

std::optional<int> ProgramHold::poll() {
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(raw(pid_), &status, kOurs | WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == raw(pid_)) return status;
  if (got < 0) noticed_ = Moment::kEnded;
  return std::nullopt;
}

ProgramHold::Moment ProgramHold::wait(nanoseconds time) {
  const auto begin = Clock::now();
  auto awake_until = begin;
  while (true) {
    if (const auto status = poll()) {
      noticed_ = handle(*status);
      awake_until = Clock::now() + kAwake;
    }
    if (noticed_ != Moment::kNone) {
      return noticed_ == Moment::kEnded ? noticed_ : std::exchange(noticed_, Moment::kNone);
    }
    go_on();
    const auto now = Clock::now();
    if (now - begin >= time) return Moment::kNone;
    if (now < awake_until) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::min<nanoseconds>(kStopPause, time - (now - begin)));
    }
  }
}

void ProgramHold::stop() {
  if (!traced_) return;
  if (!standing_ && ::ptrace(PTRACE_INTERRUPT, raw(pid_), nullptr, nullptr) != 0) return;
  const auto begin = Clock::now();
  if (!standing_ && !asked_) asked_ = begin;
  while (!standing_ && noticed_ == Moment::kNone && Clock::now() - begin < kStopPatience) {
    if (const auto status = poll()) {
      noticed_ = handle(*status);
    } else {
      std::this_thread::yield();
    }
  }
  if (!standing_) return;
  asked_.reset();
  mortal_ = set_options(pid_, PTRACE_O_TRACEEXEC);
}

bool ProgramHold::is_awaited() const {
  return traced_ && asked_ && Clock::now() - *asked_ < kWholePatience;
}

std::optional<HeldThread> ProgramHold::thread() const {
  if (!traced_) return std::nullopt;
  HeldThread held{Tid{raw(pid_)}, std::nullopt, std::nullopt};
  if (!standing_) return held;
  if (auto pointer = StoppedThread::thread_pointer_of(held.tid)) held.thread_pointer = *pointer;
  if (auto registers = StoppedThread::registers_of(held.tid)) held.registers = *registers;
  return held;
}

// After every stop the thread is held. wait() resumes it, or a caller looks at it first.
ProgramHold::Moment ProgramHold::handle(int status) {
  if (!WIFSTOPPED(status)) {
    wait_status_ = status;
    traced_ = standing_ = false;
    return Moment::kEnded;
  }
  standing_ = true;
  signal_ = 0;
  listening_ = false;
  const Stop stop = explain_stop(Tid{raw(pid_)}, status);
  switch (stop.kind) {
    case Stop::Kind::kExec:
      begin_program();
      return Moment::kNone;
    case Stop::Kind::kBreakpoint:
      return at_breakpoint();
    case Stop::Kind::kEnding:
      return Moment::kEnding;
    case Stop::Kind::kSignal:
      signal_ = stop.signal;
      return Moment::kNone;
    case Stop::Kind::kGroupStop:
      listening_ = true;
      return Moment::kNone;
    default:
      return Moment::kNone;
  }
}

// Asks for a stop before the end only now. If the program could not be executed, its process has
// ended before, while its stops were not handled.
void ProgramHold::begin_program() {
  set_options(pid_, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
  entry_.reset();
  breakpoints_.reset();
  auto process = LiveProcess::open(pid_);
  if (!process) return;
  const auto entry = (*process)->entry_point();
  auto breakpoints = Breakpoints::open(pid_);
  if (!entry || !breakpoints) return;
  breakpoints_.emplace(*std::move(breakpoints));
  if (breakpoints_->add(*entry)) entry_ = entry;
}

ProgramHold::Moment ProgramHold::at_breakpoint() {
  const Tid tid{raw(pid_)};
  const auto position = read_position(tid);
  if (!position || !entry_ || position->pc - kTrapAdvance != *entry_) {
    signal_ = SIGTRAP;  // The signal is not from our breakpoint, so the program must get it.
    return Moment::kNone;
  }
  breakpoints_->remove(*entry_);
  write_pc(tid, *entry_);
  entry_.reset();
  return Moment::kLoaded;
}

void ProgramHold::go_on() {
  // Must not skip a moment that wait() has not returned yet.
  if (!standing_ || noticed_ != Moment::kNone) return;
  if (std::exchange(mortal_, false)) set_options(pid_, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
  standing_ = false;
  if (listening_) {
    ::ptrace(PTRACE_LISTEN, raw(pid_), nullptr, nullptr);
  } else {
    resume_thread(Tid{raw(pid_)}, Resume::kRun, std::exchange(signal_, 0));
  }
}

void ProgramHold::let_go() {
  if (!traced_) return;
  stop();
  if (entry_) breakpoints_->remove(*entry_);
  // If the thread does not stop, the kernel detaches when it, or the calling thread, ends.
  if (standing_) ::ptrace(PTRACE_DETACH, raw(pid_), nullptr, static_cast<long>(signal_));
  traced_ = standing_ = false;
}

}  // namespace labelscope::cli
