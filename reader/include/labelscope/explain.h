// These functions explain step by step how labels are found, for a person whose labels do not show
// up. The explanations are plain sentences. Strings from the target in them are raw bytes: escape
// them before you print them.
#pragma once

#include <string>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/memory.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"

namespace labelscope {

struct Explanation {
  std::vector<std::string> steps;
  std::vector<Finding> findings;  // why there are no labels, or what deviates, most important first
};

// Explains what planning saw, from the trace that Planner::plan() has filled, module by module:
// symbols and their tables, relocations, the words in the slots, and what they were taken for.
// Modules with neither symbol are counted, not listed.
Explanation explain_plan(const ProcessPlan& plan, const PlanTrace& trace);

// Applies the plan's recipes to one thread once more, and reports each read and its result: thread
// pointer, DTV, length, generation, entry, address, pointer, set, labels. Call it while the thread
// is held: otherwise the memory may have changed.
Explanation explain_thread(const ProcessPlan& plan, const ThreadState& thread,
                           const MemorySource& memory);

}  // namespace labelscope
