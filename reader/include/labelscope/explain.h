// The resolution of labels told step by step, for the person whose labels do not show up. Plain
// sentences; strings from the target in them are bytes, and whoever prints them escapes them.
#pragma once

#include <string>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/plan.h"

namespace labelscope {

struct Explanation {
  std::vector<std::string> steps;
  std::vector<Finding> findings;  // why there are no labels, or what deviates, most important first
};

// What planning saw: the trace that Planner::plan() filled, module by module (those with neither
// symbol are counted, not listed): symbols and their tables, relocations, the slots' live words and
// what they were taken for.
Explanation explain_plan(const ProcessPlan& plan, const PlanTrace& trace);

// One thread: the plan's recipes applied once more, each read and what it gave: thread pointer,
// DTV, length, generation, entry, address, pointer, set, labels. Call it while the thread is held
// still, or the memory may have changed since.
Explanation explain_thread(const ProcessPlan& plan, Address thread_pointer,
                           const MemorySource& memory);

}  // namespace labelscope
