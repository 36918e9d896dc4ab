// The tracer and its child. The child raises SIGSTOP before the first step and after each; in
// between, the tracer steps it and has the watcher look.
#include "writer/single_step.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

constexpr int kExitNotTraceable = 77;
// The longest step here takes some ten thousand; one that loops for ever must still end the test.
constexpr std::size_t kMaxInstructionsPerStep = 5'000'000;

void raise_marker(void*) { raise(SIGSTOP); }

[[noreturn]] void run_child(std::size_t count, const std::function<void(std::size_t)>& act,
                            LastStep last) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kExitNotTraceable);
  raise(SIGSTOP);
  for (std::size_t step = 0; step < count; ++step) {
    if (last == LastStep::kEndsThread && step + 1 == count) {
      // Keys are destroyed in the order of their creation: this marker comes after the library's
      // own key.
      pthread_key_t key{};
      if (pthread_key_create(&key, raise_marker) != 0 || pthread_setspecific(key, &key) != 0)
        _exit(1);
    }
    act(step);
    raise(SIGSTOP);
  }
  _exit(0);
}

class Tracer {
 public:
  Tracer(pid_t child, StepWatcher& watcher) : child_(child), watcher_(watcher) {}
  ~Tracer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, __WALL);
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool wait_for_start() {
    return waitpid(child_, &status_, __WALL) == child_ && WIFSTOPPED(status_);
  }

  // False if the step did not come to its end.
  bool run(std::size_t step) {
    for (std::size_t i = 0; i < kMaxInstructionsPerStep; ++i) {
      if (ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0 ||
          waitpid(child_, &status_, __WALL) != child_ || !WIFSTOPPED(status_))
        return fail(step, i, "the child is gone");
      const int signal = WSTOPSIG(status_);
      if (signal != SIGSTOP && signal != SIGTRAP)
        return fail(step, i, "signal " + std::to_string(signal));
      ++stepping_.instructions;
      const bool over = signal == SIGSTOP;
      watcher_.look(child_, step, i, over);
      if (over) return true;
    }
    return fail(step, kMaxInstructionsPerStep, "it does not end");
  }

  Stepping stepping() && { return std::move(stepping_); }

 private:
  bool fail(std::size_t step, std::size_t instruction, const std::string& why) {
    stepping_.failure = "step " + std::to_string(step) + ", instruction " +
                        std::to_string(instruction) + ": " + why;
    return false;
  }

  pid_t child_;
  StepWatcher& watcher_;
  int status_ = 0;
  Stepping stepping_;
};

}  // namespace

std::optional<Stepping> single_step(std::size_t count, const std::function<void(std::size_t)>& act,
                                    StepWatcher& watcher, LastStep last) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) run_child(count, act, last);
  Tracer tracer(child, watcher);
  if (!tracer.wait_for_start()) return std::nullopt;
  for (std::size_t step = 0; step < count && tracer.run(step); ++step) continue;
  return std::move(tracer).stepping();
}
