// These are the objects behind the handles of labelscope.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labelscope/core_file.h"
#include "labelscope/finding.h"
#include "labelscope/label.h"
#include "labelscope/labelscope.h"
#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"

// It has one of the two, never both. They are two members rather than a Target&, because the kernel
// has threads and thread pointers of a live process, but a core has its own.
struct ls_target {
  std::unique_ptr<labelscope::LiveProcess> process;
  std::unique_ptr<labelscope::CoreFile> core;
  labelscope::Planner planner;

  const labelscope::Target& get() const {
    if (process) return *process;
    return *core;
  }
};

// A plan for C: publishers by index, and all findings in one list.
struct ls_plan {
  struct ModuleFinding {
    std::size_t publisher = LS_NO_PUBLISHER;
    std::string path;
    labelscope::Finding finding;
  };
  labelscope::ProcessPlan plan;
  std::vector<ls_tls_recipe> recipes;  // those of plan.publishers, as observe() takes them
  std::vector<ModuleFinding> findings;
  std::string absence;
  bool may_miss_publisher = false;  // snapshot.h
  std::string program;              // for a process: LiveProcess::program() when the plan was made
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

namespace labelscope::c_api {

using HeldThreadUse = std::function<void(const ThreadState& thread, const MemorySource& memory)>;

// Calls `use` while the thread is stopped; returns for how long it was stopped (0 in a core). Fails
// with kVanished if it has ended, or if its process runs another program than the plan was made
// for.
Result<std::chrono::nanoseconds> with_held_thread(const ls_target& target, const ls_plan& plan,
                                                  Tid tid, const HeldThreadUse& use);

}  // namespace labelscope::c_api
