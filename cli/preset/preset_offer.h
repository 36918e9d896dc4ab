// What labelscope says of a program without labels: that a preset fits, and what it reads there
// now.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/preset_plan.h"

namespace labelscope::cli {

// All that are known and may be offered. Their labels are for everybody to see.
ModulePresets offered_presets();
// Returns those of these processes whose program has the symbols of a preset. Its libraries are not
// looked at (ProcessPlan::notices_preset).
std::vector<Pid> of_preset_programs(std::span<const Pid> pids, const ModulePresets& presets);

// Returns "--preset redis fits (redis 7.0.6-15), and says now: command=sort user=acme", or empty if
// no preset fits one of these processes. It plans them, and reads them without stopping them. It
// says nothing of what it may not read.
std::string offer_presets(std::span<const Pid> pids,
                          const ModulePresets& presets = offered_presets());

}  // namespace labelscope::cli
