// What is behind the handles of labelscope.h.
#pragma once

#include <chrono>
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

// What a plan is to C: publishers by index, and everything that was found in one list.
struct ls_plan {
  struct ModuleFinding {
    std::size_t publisher = LS_NO_PUBLISHER;
    std::string path;
    labelscope::Finding finding;
  };
  labelscope::ProcessPlan plan;
  std::vector<ls_tls_recipe> recipes;  // of plan.publishers, as observe() wants them
  std::vector<ModuleFinding> findings;
  std::string absence;
  bool may_miss_publisher = false;  // core_snapshot.h
  std::string program;              // of a process: LiveProcess::program() when it was made
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

// Calls `use` while the thread is stopped; returns for how long it was (0 in a core).
// kVanished: it ended, or its process runs another program than the plan was made for.
Result<std::chrono::nanoseconds> with_held_thread(const ls_target& target, const ls_plan& plan,
                                                  Tid tid, const HeldThreadUse& use);

}  // namespace labelscope::c_api
