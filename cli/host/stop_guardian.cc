#include "cli/host/stop_guardian.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <string_view>

#include "cli/host/log.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {
namespace {

// The guardian looks so often, and continues labelscope at the second look that finds it stopped:
// at the first one, some of its threads may still be on their way to the stop, and let go of what
// they hold. So a thread is held for two tenths of a second at most.
constexpr timespec kBetweenLooks{0, 100'000'000};

// The only descriptor of the guardian.
constexpr int kState = 0;

// Other libraries must not be called in the child of a process that may have threads.
bool give_up_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_capset, &header, none.data()) == 0;
}

// Linux before 5.9 lacks close_range(); there the descriptors stay open.
bool keep_only(int state) {
  return ::dup2(state, kState) == kState &&
         (::syscall(SYS_close_range, kState + 1, ~0U, 0) == 0 || errno == ENOSYS);
}

// Reads the state of /proc/PID/stat, which follows the name: "123 (labelscope) T ...". A process is
// in state T if a signal has stopped it, and in state t if a debugger has.
bool is_stopped() {
  std::array<char, 128> text{};
  const ssize_t length = ::pread(kState, text.data(), text.size(), 0);
  if (length <= 0) return false;
  const std::string_view line(text.data(), static_cast<std::size_t>(length));
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string_view::npos && line.substr(name_end + 2).starts_with('T');
}

// On a busy machine, a program of usual priority may wait for a processor for seconds, and the held
// thread with it. This fails without the right (CAP_SYS_NICE).
void take_precedence() {
  sched_param lowest{};
  lowest.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
  ::sched_setscheduler(0, SCHED_FIFO, &lowest);
}

[[noreturn]] void guard(pid_t labelscope, int state, SharedHolds& holds) {
  // A signal to all processes of a service must not end the guardian before labelscope.
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "labelscope-stop");
  take_precedence();
  // A process group of its own, because a shell stops all processes of a group. A session of its
  // own would be scheduled as a group, beside those of all other sessions.
  const bool ready = ::setpgid(0, 0) == 0 && keep_only(state) && give_up_capabilities() &&
                     ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (!ready) _exit(1);
  bool was_stopped = false;
  while (::getppid() == labelscope) {
    const bool stopped = holds.current != 0 && is_stopped();
    if (stopped && was_stopped) ::kill(labelscope, SIGCONT);
    was_stopped = stopped;
    ::nanosleep(&kBetweenLooks, nullptr);
  }
  _exit(0);
}

// What the handler of SIGCONT reads, which has no argument of its own.
std::atomic<SharedHolds*> guarded_holds = nullptr;
std::atomic<pid_t> guardian = 0;

// labelscope is to stop itself later only if it owes its going on to the guardian, and to nobody
// else since. The user's SIGCONT may come before labelscope has stopped itself. (Two that come
// before this handler runs are one: then labelscope stops itself, and needs another one.)
void on_continue(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (SharedHolds* holds = guarded_holds) holds->was_continued = info->si_pid == guardian;
}

}  // namespace

void StopGuardian::start() {
  if (Status started = try_to_start(); !started) {
    log::verbose("no process undoes a SIGSTOP that comes while a thread is held: " +
                 started.error().context);
  }
}

Status StopGuardian::try_to_start() {
  const UniqueFd state(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  if (!state.valid()) return system_error(errno, "/proc/self/stat");
  void* memory = ::mmap(nullptr, sizeof(SharedHolds), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error(errno, "shared memory");
  holds_ = new (memory) SharedHolds;
  const pid_t labelscope = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) guard(labelscope, state.get(), *holds_);
  if (pid_ < 0) return system_error(errno, "fork");
  guardian = pid_;
  guarded_holds = holds_;
  struct sigaction action {};
  action.sa_sigaction = on_continue;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGCONT, &action, nullptr);
  share_holds(holds_);
  return {};
}

StopGuardian::~StopGuardian() {
  if (holds_ == nullptr) return;
  share_holds(nullptr);
  ::signal(SIGCONT, SIG_DFL);
  guarded_holds = nullptr;
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    int status = 0;
    const bool collected = ::waitpid(pid_, &status, 0) == pid_;
    if (collected && WIFEXITED(status)) {
      log::verbose("the process that undoes a SIGSTOP could not give up its rights, and has ended");
    }
  }
  ::munmap(holds_, sizeof *holds_);
}

}  // namespace labelscope::cli
