// Chains of calls of the writer that take every path through it. Each step names the set that must
// be current after it; until then it is that of the step before. The last step of a chain ends
// without labels, so that the chain can be repeated.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "writer/labels.h"

struct LabelStep {
  std::string name;
  std::function<void()> act;  // allocates nothing itself
  Labels after;
};

// Returns steps for the calling thread's labels (writer.h, labels.hpp): first use; a new label; a
// value replaced by a longer, shorter and equally long one; a cut value; a full set; several labels
// at once; the first, last, middle and only label removed; scopes; trace context; refused
// arguments.
std::vector<LabelStep> label_steps();

// Returns steps for sets as objects (customlabels.h), which are changed before they are installed
// and after, and for both modes on one thread.
std::vector<LabelStep> label_set_steps();

// Returns random calls in any order. They use few keys and values, so that these often collide, and
// expect the outcome of a model of the interface.
std::vector<LabelStep> random_steps(unsigned seed, std::size_t count);
