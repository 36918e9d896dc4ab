// What is behind the handles of labelscope.h.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "labelscope/core_file.h"
#include "labelscope/label.h"
#include "labelscope/labelscope.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"

// One of the two, never both. Two members rather than a Target&: threads and thread pointers of a
// live process are asked of the kernel, those of a core are in it.
struct ls_target {
  std::unique_ptr<labelscope::LiveProcess> process;
  std::unique_ptr<labelscope::CoreFile> core;
  labelscope::Planner planner;

  const labelscope::Target& get() const {
    if (process) return *process;
    return *core;
  }
};

struct ls_thread_list {
  struct Thread {
    labelscope::Tid tid{};
    std::string name;
  };
  std::vector<Thread> threads;
};

struct ls_observation {
  labelscope::Observation seen;
  labelscope::Address thread_pointer = 0;
  std::chrono::nanoseconds held{0};
};

struct ls_explanation {
  std::vector<std::string> lines;
};
