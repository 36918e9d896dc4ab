// Steps through a chain of calls, and judges the label set after every instruction: it must be the
// old set, until it is the new one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "writer/label_steps.h"
#include "writer/single_step.h"

enum class Violation {
  kTornLabel,   // a key with a value that it has neither before nor after the call
  kMixture,     // each label is an old or a new one, the set as a whole is neither
  kNullValue,   // a key whose value is a null pointer
  kUnreadable,  // a pointer into memory that is not there
  kOldAgain,    // the old set after the new one
  kUnchanged,   // the call is over and the new set is not there
};

struct Finding {
  Violation violation;
  std::string text;
};

struct LabelStepReport {
  std::size_t instructions = 0;   // those after which the set was read
  std::vector<Finding> findings;  // each violation once per step
};

// The calling thread must have no labels. Skips the test case where its child cannot be traced. A
// step without an act is what the former act does after it calls end_step().
LabelStepReport step_labels(const std::vector<LabelStep>& steps);
