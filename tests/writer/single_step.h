// Runs code in a child process one machine instruction at a time, and has somebody look at the
// child after each, as a profiler would that happened to interrupt it there. The code says where
// one step ends and the next begins.
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

// Runs the body, which ends that many steps. Nothing if this process may not trace its child.
std::optional<Stepping> single_step(std::size_t steps, const std::function<void()>& body,
                                    StepWatcher& watcher);

// For the body: ends a step.
void end_step();
// For the body: the step ends with the thread, after the destructors of the pthread keys that were
// created before. The caller ends it, by pthread_exit.
void end_step_with_thread();
