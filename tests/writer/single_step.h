// Runs a chain of calls in a child process one machine instruction at a time, and reads the child's
// label set after every instruction, as a profiler would that happened to interrupt it there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "writer/label_steps.h"

struct SingleStepReport {
  std::size_t instructions = 0;  // after how many the set was read
  std::vector<std::string>
      findings;  // a set that was neither the old nor the new one, or an old one after the new
};

// What the last step does to end the thread it runs on, before the end is noticed.
enum class LastStep {
  kReturns,
  kEndsThread,  // by pthread_exit: the destructors of its pthread keys belong to the step
};

// The child is a copy of the calling thread, so the chain starts from that thread's labels, which
// must be none. Nothing if this process may not trace its child.
std::optional<SingleStepReport> single_step(const std::vector<LabelStep>& steps,
                                            LastStep last = LastStep::kReturns);
