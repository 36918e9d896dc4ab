// StoppedThread: PTRACE_SEIZE, PTRACE_INTERRUPT, wait, and detach.
#include "labelscope/stopped_thread.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

namespace labelscope {
namespace {

std::string name_of(Tid tid) { return "thread " + std::to_string(raw(tid)); }

bool stopped_by_event(int status) { return (status >> 16) == PTRACE_EVENT_STOP; }

}  // namespace

Result<StoppedThread> StoppedThread::stop(Tid tid) {
  auto since = std::chrono::steady_clock::now();
  if (ptrace(PTRACE_SEIZE, raw(tid), nullptr, nullptr) != 0) {
    return system_error(errno, "ptrace does not attach to " + name_of(tid));
  }
  StoppedThread thread(tid, since);
  if (ptrace(PTRACE_INTERRUPT, raw(tid), nullptr, nullptr) != 0) {
    return system_error(errno, "ptrace does not interrupt " + name_of(tid));
  }
  int status = 0;
  pid_t waited = 0;
  do {
    waited = waitpid(raw(tid), &status, __WALL);
  } while (waited < 0 && errno == EINTR);
  if (waited < 0) return system_error(errno, "waiting for " + name_of(tid) + " to stop");
  if (!WIFSTOPPED(status)) {
    thread.owned_ = false;
    return Error{ErrorCode::kVanished, name_of(tid) + " ended"};
  }
  // Stopped on the way to a signal, before our interrupt: hand that signal over when we let go.
  if (!stopped_by_event(status)) thread.pending_signal_ = WSTOPSIG(status);
  return thread;
}

StoppedThread::StoppedThread(StoppedThread&& other) noexcept
    : tid_(other.tid_),
      owned_(std::exchange(other.owned_, false)),
      pending_signal_(other.pending_signal_),
      since_(other.since_) {}

StoppedThread::~StoppedThread() {
  if (!owned_) return;
  ptrace(PTRACE_DETACH, raw(tid_), nullptr, static_cast<long>(pending_signal_));
}

Result<Address> StoppedThread::thread_pointer() const {
#if defined(__x86_64__)
  user_regs_struct registers{};
  iovec io{&registers, sizeof registers};
  if (ptrace(PTRACE_GETREGSET, raw(tid_), NT_PRSTATUS, &io) != 0) {
    return system_error(errno, "registers of " + name_of(tid_));
  }
  return Address{registers.fs_base};
#elif defined(__aarch64__)
  std::uint64_t pointer = 0;
  iovec io{&pointer, sizeof pointer};
  if (ptrace(PTRACE_GETREGSET, raw(tid_), NT_ARM_TLS, &io) != 0) {
    return system_error(errno, "TPIDR_EL0 of " + name_of(tid_));
  }
  return Address{pointer};
#endif
}

std::chrono::nanoseconds StoppedThread::held() const {
  return std::chrono::steady_clock::now() - since_;
}

}  // namespace labelscope
