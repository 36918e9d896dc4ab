// Chains of calls of the writer that take every path through it. Each step says which set must be
// current after it; before it, that of the step before. The last step of a chain ends without
// labels, so that it can be run again and again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "writer/labels.h"

struct LabelStep {
  std::string name;
  std::function<void()> act;  // allocates nothing of its own
  Labels after;
};

// The calling thread's labels (writer.h, labels.hpp): first use, new label, value replaced by a
// longer, shorter and equally long one, cut, full, several at once, removed first, last, in the
// middle and only one, scopes, trace context, refused arguments.
std::vector<LabelStep> label_steps();

// Sets as objects (customlabels.h), changed before they are installed and after, and both modes on
// one thread.
std::vector<LabelStep> label_set_steps();

// Any calls in any order: few keys and values that get in each other's way, with the outcome that a
// model of the interface expects.
std::vector<LabelStep> random_steps(unsigned seed, std::size_t count);
