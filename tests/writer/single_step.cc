// The tracer and its child. The child raises SIGSTOP before the first step and after each; in
// between, the tracer steps it and compares. The variable has the same address in both: the child
// is a copy of the tracing thread.
#include "writer/single_step.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace {

constexpr int kExitNotTraceable = 77;
// The longest step here takes some ten thousand; one that loops for ever must still end the test.
constexpr std::size_t kMaxInstructionsPerStep = 5'000'000;
// One wrong store shows after many instructions; the first few say it all.
constexpr std::size_t kMaxFindings = 10;

void raise_marker(void*) { raise(SIGSTOP); }

[[noreturn]] void run_child(const std::vector<LabelStep>& steps, LastStep last) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kExitNotTraceable);
  raise(SIGSTOP);
  for (const LabelStep& step : steps) {
    if (last == LastStep::kEndsThread && &step == &steps.back()) {
      // Keys are destroyed in the order of their creation: this marker comes after the library's
      // own key.
      pthread_key_t key{};
      if (pthread_key_create(&key, raise_marker) != 0 || pthread_setspecific(key, &key) != 0)
        _exit(1);
    }
    step.act();
    raise(SIGSTOP);
  }
  _exit(0);
}

class Tracer {
 public:
  explicit Tracer(pid_t child) : child_(child) {}
  ~Tracer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, __WALL);
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool wait_for_start() {
    return waitpid(child_, &status_, __WALL) == child_ && WIFSTOPPED(status_);
  }

  void run(const LabelStep& step, const Labels& before) {
    bool changed = step.after == before;
    for (std::size_t i = 0; i < kMaxInstructionsPerStep; ++i) {
      if (ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0 ||
          waitpid(child_, &status_, __WALL) != child_ || !WIFSTOPPED(status_)) {
        return find(step, i, "the child is gone");
      }
      const bool at_marker = WSTOPSIG(status_) == SIGSTOP;
      if (!at_marker && WSTOPSIG(status_) != SIGTRAP)
        return find(step, i, "signal " + std::to_string(WSTOPSIG(status_)));
      ++report_.instructions;
      compare(step, before, i, changed);
      if (at_marker) {
        if (!changed) find(step, i, "the step is over and the set is still the old one");
        return;
      }
    }
    find(step, kMaxInstructionsPerStep, "the step does not end");
  }

  bool full() const { return report_.findings.size() >= kMaxFindings; }
  SingleStepReport report() && { return std::move(report_); }

 private:
  void compare(const LabelStep& step, const Labels& before, std::size_t instruction,
               bool& changed) {
    if (full()) return;
    const std::optional<Labels> seen = read_remote_labels(
        child_, const_cast<const custom_labels_labelset_t* const*>(&custom_labels_current_set));
    if (!seen) return find(step, instruction, "a set that cannot be read");
    if (*seen == step.after) {
      changed = true;
    } else if (*seen != before) {
      find(step, instruction, "a set that was never set: " + to_string(*seen));
    } else if (changed) {
      find(step, instruction, "the old set after the new one");
    }
  }

  void find(const LabelStep& step, std::size_t instruction, std::string_view what) {
    report_.findings.push_back(step.name + ", instruction " + std::to_string(instruction) + ": " +
                               std::string(what));
  }

  pid_t child_;
  int status_ = 0;
  SingleStepReport report_;
};

}  // namespace

std::optional<SingleStepReport> single_step(const std::vector<LabelStep>& steps, LastStep last) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) run_child(steps, last);
  Tracer tracer(child);
  if (!tracer.wait_for_start()) return std::nullopt;
  Labels before;
  for (const LabelStep& step : steps) {
    tracer.run(step, before);
    if (tracer.full()) break;
    before = step.after;
  }
  return std::move(tracer).report();
}
