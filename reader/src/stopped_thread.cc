// StoppedThread: PTRACE_SEIZE, PTRACE_INTERRUPT, wait, and detach.
#include "labelscope/stopped_thread.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "proc_fs.h"
#include "register_set.h"

namespace labelscope {
namespace {

std::string name_of(Tid tid) { return "thread " + std::to_string(raw(tid)); }

// waitid() gives the signal in the low byte and the event above it.
bool stopped_by_event(const siginfo_t& seen) { return (seen.si_status >> 8) == PTRACE_EVENT_STOP; }

// 0, or errno.
int wait_for(id_t id, siginfo_t& seen, int options) {
  int result = 0;
  do {
    result = waitid(P_PID, id, &seen, options | __WALL);
  } while (result < 0 && errno == EINTR);
  return result < 0 ? errno : 0;
}

std::string status_of(Tid tid) {
  auto status = read_proc_file("/proc/" + std::to_string(raw(tid)) + "/status");
  return status ? *std::move(status) : std::string();
}

// EPERM has several meanings; /proc tells which.
Error refusal(Tid tid, int errno_value) {
  const std::string status = status_of(tid);
  const std::string_view state = status_field(status, "State");
  if (state.starts_with('Z') || state.starts_with('X')) {
    return Error{ErrorCode::kVanished, name_of(tid) + " has ended"};
  }
  const std::string_view tracer = status_field(status, "TracerPid");
  if (!tracer.empty() && tracer != "0") {
    return Error{ErrorCode::kPermission,
                 name_of(tid) + " is already traced by process " + std::string(tracer)};
  }
  return system_error(errno_value, "ptrace does not attach to " + name_of(tid));
}

// Whether the thread is a process that this one has started: then its status is somebody's to
// collect who does not know of us.
bool is_own_child(Tid tid) {
  const std::string status = status_of(tid);
  return status_field(status, "PPid") == std::to_string(getpid()) &&
         status_field(status, "Tgid") == std::to_string(raw(tid));
}

#if defined(__x86_64__)
constexpr Machine kThisMachine = Machine::kX86_64;
#elif defined(__aarch64__)
constexpr Machine kThisMachine = Machine::kAarch64;
#endif

Result<RegisterSet> read_register_set(Tid tid) {
  std::array<std::byte, sizeof(user_regs_struct)> bytes{};
  iovec io{bytes.data(), bytes.size()};
  if (ptrace(PTRACE_GETREGSET, raw(tid), NT_PRSTATUS, &io) != 0) {
    return system_error(errno, "registers of " + name_of(tid));
  }
  return decode_register_set(kThisMachine, std::span(bytes).first(io.iov_len));
}

}  // namespace

Result<StoppedThread> StoppedThread::stop(Tid tid) {
  auto since = std::chrono::steady_clock::now();
  if (ptrace(PTRACE_SEIZE, raw(tid), nullptr, nullptr) != 0) {
    return refusal(tid, errno);
  }
  StoppedThread thread(tid, since);
  if (ptrace(PTRACE_INTERRUPT, raw(tid), nullptr, nullptr) != 0) {
    return system_error(errno, "ptrace does not interrupt " + name_of(tid));
  }
  // Looked at first and collected afterwards: the status of an own child that ended stays for
  // whoever started it. Anybody else's must be collected, or its parent would never see it.
  siginfo_t seen{};
  const auto id = static_cast<id_t>(raw(tid));
  if (const int failure = wait_for(id, seen, WEXITED | WSTOPPED | WNOWAIT); failure != 0) {
    return system_error(failure, "waiting for " + name_of(tid) + " to stop");
  }
  if (seen.si_code == CLD_EXITED || seen.si_code == CLD_KILLED || seen.si_code == CLD_DUMPED) {
    thread.owned_ = false;
    if (!is_own_child(tid)) wait_for(id, seen, WEXITED | WNOHANG);
    return Error{ErrorCode::kVanished, name_of(tid) + " ended"};
  }
  seen = {};
  if (const int failure = wait_for(id, seen, WSTOPPED | WNOHANG);
      failure != 0 || seen.si_pid == 0) {
    thread.owned_ = false;
    return Error{ErrorCode::kVanished, name_of(tid) + " was killed"};
  }
  // Stopped on the way to a signal, before our interrupt: hand that signal over when we let go.
  if (!stopped_by_event(seen)) thread.pending_signal_ = seen.si_status;
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
  auto set = read_register_set(tid_);
  if (!set) return std::move(set).error();
  return *set->thread_pointer;
#elif defined(__aarch64__)
  std::uint64_t pointer = 0;
  iovec io{&pointer, sizeof pointer};
  if (ptrace(PTRACE_GETREGSET, raw(tid_), NT_ARM_TLS, &io) != 0) {
    return system_error(errno, "TPIDR_EL0 of " + name_of(tid_));
  }
  return Address{pointer};
#endif
}

Result<Registers> StoppedThread::registers() const {
  auto set = read_register_set(tid_);
  if (!set) return std::move(set).error();
  return set->registers;
}

std::chrono::nanoseconds StoppedThread::held() const {
  return std::chrono::steady_clock::now() - since_;
}

}  // namespace labelscope
