// A process with several publishers that disagree (targets/rivals.c), and what every reader must
// show of it.
#pragma once

#include <vector>

#include "labelscope/label.h"
#include "labelscope/plan.h"
#include "support/target_process.h"

namespace labelscope::test {

// The set is an executable, a library beside it, and a copy of that library in a namespace of its
// own; or the executable and two such copies.
enum class RivalSet { kLibraryAndCopy, kTwoCopies };
TargetProcess start_rivals(RivalSet set);

struct RivalPlan {
  ProcessPlan plan;
  std::vector<ls_tls_recipe> recipes;
};
// Requires a publisher for each of the target's variables. Skips the test where the process may not
// be read.
RivalPlan plan_rivals(const TargetProcess& target);

// Returns the labels of one thread by the target's own words: those of every publisher in the
// plan's order, without pairs that an earlier one has, too. The addresses show which publisher is
// which.
LabelSet rival_labels(const TargetProcess& target, const RivalPlan& plan, const TruthThread& truth);

}  // namespace labelscope::test
