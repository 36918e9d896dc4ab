// The tracer and its child. The child raises SIGSTOP before the first step and at the end of each.
// In between, the tracer steps through it and calls the watcher.
#include "writer/single_step.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

constexpr int kExitNotTraceable = 77;
// The longest step takes some ten thousand instructions; one that loops for ever must still end the
// test.
constexpr std::size_t kMaxInstructionsPerStep = 5'000'000;

[[noreturn]] void run_child(const std::function<void()>& body) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kExitNotTraceable);
  end_step();
  body();
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

  // Returns false if the step did not come to its end.
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

void end_step() { raise(SIGSTOP); }

void end_step_with_thread() {
  // Keys are destroyed in the order of their creation, so this one comes after the library's own.
  pthread_key_t key{};
  const auto at_end = [](void*) { end_step(); };
  if (pthread_key_create(&key, at_end) != 0 || pthread_setspecific(key, &key) != 0) _exit(1);
}

std::optional<Stepping> single_step(std::size_t steps, const std::function<void()>& body,
                                    StepWatcher& watcher) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) run_child(body);
  Tracer tracer(child, watcher);
  if (!tracer.wait_for_start()) return std::nullopt;
  for (std::size_t step = 0; step < steps && tracer.run(step); ++step) continue;
  return std::move(tracer).stepping();
}
