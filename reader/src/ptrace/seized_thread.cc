#include "ptrace/seized_thread.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "process/proc_fs.h"

namespace labelscope {
namespace {

// The kernel puts the ptrace event above the low byte of si_code. With PTRACE_EVENT_STOP, si_signo
// is no signal that the thread must get: it only distinguishes a job-control stop from labelscope's
// interrupt.
int signal_to_deliver(const siginfo_t& stop) {
  return (stop.si_code >> 8) == PTRACE_EVENT_STOP ? 0 : stop.si_signo;
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
  // PTRACE_GETSIGINFO succeeds only for a thread that is stopped for this tracer. waitid() would
  // report the stop, too, but only once: the program may have a handler of SIGCHLD that collects it
  // first.
  siginfo_t stop{};
  if (::ptrace(PTRACE_GETSIGINFO, raw(tid), nullptr, &stop) == 0) {
    return {Kind::kStopped, signal_to_deliver(stop)};
  }
  // __WNOTHREAD leaves out what other threads of this process have started or traced.
  siginfo_t seen{};
  constexpr int kEnds = WEXITED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD;
  if (::waitid(P_PID, static_cast<id_t>(raw(tid)), &seen, kEnds) != 0) {
    return {errno == ECHILD ? Kind::kGone : Kind::kNothing};
  }
  // waitid() also reports a stop that has come meanwhile, although it was not asked for stops.
  const bool ended =
      seen.si_code == CLD_EXITED || seen.si_code == CLD_KILLED || seen.si_code == CLD_DUMPED;
  return {seen.si_pid != 0 && ended ? Kind::kEnded : Kind::kNothing};
}

std::optional<Tid> any_event() {
  siginfo_t seen{};
  constexpr int kAny = WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD;
  if (::waitid(P_ALL, 0, &seen, kAny) != 0 || seen.si_pid == 0) return std::nullopt;
  return Tid{seen.si_pid};
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
