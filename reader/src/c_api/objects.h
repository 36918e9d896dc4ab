// These are the objects behind the handles of labelscope.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labelscope/core_file.h"
#include "labelscope/finding.h"
#include "labelscope/inspect.h"
#include "labelscope/label.h"
#include "labelscope/labelscope.h"
#include "labelscope/mapping.h"
#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "sources/preset/file_preset.h"
#include "sources/preset/preset_file.h"
#include "sampling/snapshot.h"

namespace labelscope::c_api {

// What is mapped executable of a file, by address. A change means that a library was loaded or
// unloaded. Code that a program makes at run time has no file, and comes and goes.
struct MappedCode {
  Address start = 0;
  Address end = 0;
  std::uint64_t file_offset = 0;
  FileId file;
  friend bool operator==(const MappedCode&, const MappedCode&) = default;
};
std::vector<MappedCode> mapped_code(const std::vector<Mapping>& mappings);

// What plans of a target look for besides publishers, and the number of the call that has asked for
// each.
struct Wanted {
  PlannerOptions options;
  std::vector<std::size_t> variable_numbers;
  std::vector<std::size_t> preset_numbers;
  std::size_t count() const { return variable_numbers.size() + preset_numbers.size(); }
};

}  // namespace labelscope::c_api

// It has one of the two, never both. They are two members rather than a Target&, because the kernel
// has threads and thread pointers of a live process, but a core has its own.
struct ls_target {
  std::unique_ptr<labelscope::LiveProcess> process;
  std::unique_ptr<labelscope::CoreFile> core;
  labelscope::Planner planner;
  std::vector<labelscope::c_api::MappedCode> code;  // of a core file, which it identifies

  labelscope::c_api::Wanted wanted;

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
    std::size_t wanted = LS_NOT_WANTED;
  };
  labelscope::ProcessPlan plan;
  std::vector<ls_tls_recipe> recipes;  // those of plan.publishers, as observe() takes them
  std::vector<ModuleFinding> findings;
  std::string absence;
  bool may_miss_publisher = false;  // snapshot.h
  std::string program;              // what it was made for: program_of()
  std::vector<labelscope::c_api::MappedCode> code;
};

struct ls_preset {
  labelscope::PresetDescription preset;
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

struct ls_snapshot {
  labelscope::ProcessSnapshot taken;
  std::vector<ls_observation> observations;  // by the index of a thread in `taken`
};

struct ls_inspection {
  labelscope::FileInspection file;
  std::vector<labelscope::PresetFit> fits;
};

struct ls_explanation {
  std::vector<std::string> lines;
};

namespace labelscope::c_api {

// Returns bytes that identify the program that a process runs now (LiveProcess::program()), or a
// core file.
std::string program_of(const ls_target& target);
// Plans for what the target wants. If the process has executed another program since the target was
// opened, the target is one of that program then.
Result<ProcessPlan> plan_target(ls_target& target, PlanTrace* trace = nullptr);
// Fails unless the plan is of the program that the target runs now: with kVanished if the process
// has ended or runs another one, with kNotFound if the target is another core file.
Status check_program(const ls_target& target, const ls_plan& plan);

using HeldThreadUse = std::function<void(const ThreadState& thread, const MemorySource& memory)>;

// Calls `use` while the thread is stopped; returns for how long it was stopped (0 in a core). Fails
// with kVanished if it has ended, or if its process runs another program than the plan was made
// for.
Result<std::chrono::nanoseconds> with_held_thread(const ls_target& target, const ls_plan& plan,
                                                  Tid tid, const HeldThreadUse& use);

}  // namespace labelscope::c_api
