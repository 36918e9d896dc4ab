// Runs a chain of acts in a child process one machine instruction at a time, and has somebody look
// at the child after each, as a profiler would that happened to interrupt it there.
//
// The child is a copy of the calling thread: it starts with that thread's thread-local variables,
// at the same addresses.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  // The child is stopped after an instruction of the step; `over`: it was the last.
  virtual void look(pid_t child, std::size_t step, std::size_t instruction, bool over) = 0;
};

struct Stepping {
  std::size_t instructions = 0;  // that were looked at
  std::string failure;           // why a step did not come to its end; empty: all did
};

// What the last step does to end the thread it runs on, before the end is noticed.
enum class LastStep {
  kReturns,
  kEndsThread,  // by pthread_exit: the destructors of its pthread keys belong to the step
};

// Runs act(0) to act(count - 1). Nothing if this process may not trace its child.
std::optional<Stepping> single_step(std::size_t count, const std::function<void(std::size_t)>& act,
                                    StepWatcher& watcher, LastStep last = LastStep::kReturns);
