// Builds a chain of steps, and keeps track of the set that each starts from.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "writer/label_steps.h"

class StepChain {
 public:
  void step(std::string name, std::function<void()> act, Labels after) {
    now_ = after;
    steps_.push_back({std::move(name), std::move(act), std::move(after)});
  }
  void unchanged(std::string name, std::function<void()> act) {
    step(std::move(name), std::move(act), now_);
  }
  const Labels& now() const { return now_; }
  std::vector<LabelStep> steps() && { return std::move(steps_); }

 private:
  Labels now_;  // sorted
  std::vector<LabelStep> steps_;
};
