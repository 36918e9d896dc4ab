#include "cli/host/replaceable_thread.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <memory>
#include <thread>

namespace labelscope::cli {
namespace {

// The kernel lets a thread that waits for a pipe or for FUSE come back at once; one that waits in
// another way comes back with its call.
constexpr std::chrono::milliseconds kUntilSignalled{50};

// One thread at a time is asked to stand still, by the watchdog's.
std::atomic<pid_t> asked{0};
std::atomic<std::uint64_t> stopped_at{0};  // where the handler has interrupted it; 0: not yet
std::atomic<pid_t> released{0};

int stop_signal() { return SIGRTMIN + 5; }

std::uint64_t program_counter(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#ifdef __x86_64__
  return static_cast<std::uint64_t>(registers.gregs[REG_RIP]);
#else
  return registers.pc;
#endif
}

// It makes only calls that a handler may make. A thread whose call comes back late was left behind
// long ago: it is not asked now, and never released.
void stand_still(int, siginfo_t*, void* context) {
  const int before = errno;
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  if (asked == self) stopped_at = program_counter(context);
  const timespec moment{0, 1'000'000};
  while (released != self) ::nanosleep(&moment, nullptr);
  released = 0;
  errno = before;
}

// An interrupted call that is to be made again has its own address, which is one instruction
// before.
bool is_end_of(const StuckCall& call, std::uint64_t at) {
#ifdef __x86_64__
  constexpr std::uint64_t kInstruction = 2;
#else
  constexpr std::uint64_t kInstruction = 4;
#endif
  return at == call.returns_to || at + kInstruction == call.returns_to;
}

}  // namespace

int ReplaceableThread::run(const std::function<int()>& work) {
  struct sigaction action {};
  action.sa_sigaction = stand_still;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(stop_signal(), &action, nullptr);
  // A thread that is left behind refers to these for ever.
  struct Outcome {
    int status = 0;
    std::exception_ptr failure;
  };
  const auto outcome = std::make_shared<Outcome>();
  std::unique_lock lock(mutex_);
  while (!over_) {
    replaces_ = false;
    std::thread worker([this, &work, outcome] {
      ::prctl(PR_SET_NAME, "labelscope-read");
      sigset_t stop{};
      sigemptyset(&stop);
      sigaddset(&stop, stop_signal());
      ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // a parent may have blocked all signals
      tid_ = static_cast<pid_t>(::syscall(SYS_gettid));
      try {
        outcome->status = work();
      } catch (...) {
        outcome->failure = std::current_exception();
      }
      tid_ = 0;
      const std::lock_guard guard(mutex_);
      over_ = true;
      changed_.notify_all();
    });
    thread_ = worker.native_handle();
    changed_.wait(lock, [this] { return over_ || replaces_; });
    if (over_) {
      lock.unlock();
      worker.join();
      lock.lock();
    } else {
      worker.detach();
    }
  }
  if (outcome->failure) std::rethrow_exception(outcome->failure);
  return outcome->status;
}

bool ReplaceableThread::leave_behind(const StuckCall& call) {
  const std::lock_guard lock(mutex_);
  if (over_ || replaces_ || tid_ != call.tid || left_behind_ >= kMost) return false;
  stopped_at = 0;
  asked = call.tid;
  if (::pthread_kill(thread_, stop_signal()) != 0) return false;
  std::this_thread::sleep_for(kUntilSignalled);
  // It may have come back before, and be anywhere: in the handler, or on its way to it.
  if (stopped_at != 0 ? !is_end_of(call, stopped_at) : !call.is_going_on()) {
    released = call.tid;
    return false;
  }
  ++left_behind_;
  return true;
}

void ReplaceableThread::replace() {
  const std::lock_guard lock(mutex_);
  replaces_ = true;
  changed_.notify_all();
}

}  // namespace labelscope::cli
