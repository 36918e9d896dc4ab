// This decides the outcome of a core's thread in which no labels were found.
#pragma once

#include "labelscope/core_file.h"
#include "labelscope/plan.h"

namespace labelscope {

// Returns whether a file that may have been a publisher was not found. Then a thread without labels
// may have had some all the same: its outcome is LS_UNREADABLE_NO_RECIPE, and not LS_UNLABELLED.
bool may_miss_publisher(const CoreFile& core, const ProcessPlan& plan);

}  // namespace labelscope
