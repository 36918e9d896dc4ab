// Runs code in a child process one machine instruction at a time, and calls a watcher after each.
// The watcher sees the child like a profiler that happens to interrupt it there. The code says
// where one step ends and the next begins.
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
  // The child is stopped after an instruction of the step. `over` says whether it was the last.
  virtual void look(pid_t child, std::size_t step, std::size_t instruction, bool over) = 0;
};

struct Stepping {
  std::size_t instructions = 0;  // at which the watcher was called
  std::string failure;           // why a step did not come to its end, or empty
};

// Runs the body, which ends this number of steps. Returns nothing if this process may not trace its
// child.
std::optional<Stepping> single_step(std::size_t steps, const std::function<void()>& body,
                                    StepWatcher& watcher);

// Ends a step; the body calls it.
void end_step();
// Ends the step with the thread, after the destructors of the pthread keys that were created
// before. The body calls it, and then ends the thread by pthread_exit.
void end_step_with_thread();
