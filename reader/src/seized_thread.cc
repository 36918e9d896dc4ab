#include "seized_thread.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "proc_fs.h"

namespace labelscope {
namespace {

// waitid() gives the signal in the low byte and the event above it. For PTRACE_EVENT_STOP the
// signal is none that is on its way: it tells a job-control stop from our interrupt.
int signal_to_deliver(const siginfo_t& seen) {
  return (seen.si_status >> 8) == PTRACE_EVENT_STOP ? 0 : seen.si_status & 0xFF;
}

bool is_own_child(Tid tid) {
  auto status = read_proc_file("/proc/" + std::to_string(raw(tid)) + "/status");
  return status && status_field(*status, "PPid") == std::to_string(::getpid()) &&
         status_field(*status, "Tgid") == std::to_string(raw(tid));
}

int failure(long result) { return result != 0 ? errno : 0; }

}  // namespace

ThreadEvent poll_thread(Tid tid) {
  using Kind = ThreadEvent::Kind;
  const auto id = static_cast<id_t>(raw(tid));
  // What other threads of this process have started or traced is theirs.
  constexpr int kOurs = WNOHANG | __WALL | __WNOTHREAD;
  siginfo_t seen{};
  if (::waitid(P_PID, id, &seen, WEXITED | WSTOPPED | WNOWAIT | kOurs) != 0) {
    return {errno == ECHILD ? Kind::kGone : Kind::kNothing};
  }
  if (seen.si_pid == 0) return {};
  if (seen.si_code == CLD_EXITED || seen.si_code == CLD_KILLED || seen.si_code == CLD_DUMPED) {
    return {Kind::kEnded};
  }
  // Looked at first and taken afterwards: asked for both at once, the kernel would hand out an end.
  seen = {};
  if (::waitid(P_PID, id, &seen, WSTOPPED | kOurs) != 0 || seen.si_pid == 0) return {};
  return {Kind::kStopped, signal_to_deliver(seen)};
}

int seize_thread(Tid tid) { return failure(::ptrace(PTRACE_SEIZE, raw(tid), nullptr, nullptr)); }

int interrupt_thread(Tid tid) {
  return failure(::ptrace(PTRACE_INTERRUPT, raw(tid), nullptr, nullptr));
}

int detach_thread(Tid tid, int signal) {
  return failure(::ptrace(PTRACE_DETACH, raw(tid), nullptr, static_cast<long>(signal)));
}

void collect_ended(Tid tid) {
  if (is_own_child(tid)) return;
  siginfo_t seen{};
  ::waitid(P_PID, static_cast<id_t>(raw(tid)), &seen, WEXITED | WNOHANG | __WALL);
}

}  // namespace labelscope
