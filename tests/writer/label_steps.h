// A chain of calls of the writer that takes every path through it: first use, new label, value
// replaced by a longer, shorter and equally long one, cut, full, several at once, removed first,
// last, in the middle and only one, scopes, refused arguments. Each step says which set must be
// current after it; before it, that of the step before. The last step ends without labels, so that
// the chain can be run again and again.
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

std::vector<LabelStep> label_steps();
