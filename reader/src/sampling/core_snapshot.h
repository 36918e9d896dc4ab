// What can be said of a core's thread in which no labels were found.
#pragma once

#include "labelscope/core_file.h"
#include "labelscope/plan.h"

namespace labelscope {

// A file that may have been a publisher was not found, so that a thread without labels may have had
// some all the same: its outcome is LS_UNREADABLE_NO_RECIPE then, and not LS_UNLABELLED.
bool may_miss_publisher(const CoreFile& core, const ProcessPlan& plan);

}  // namespace labelscope
