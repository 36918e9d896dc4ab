// Tests several publishers in one process, read from its stopped threads. All of them are found,
// each under its own index, and their disagreement is flagged.
#include "labelscope/observe.h"
#include "labelscope/stopped_thread.h"
#include "support/catch.h"
#include "support/rights.h"
#include "support/rivals.h"

namespace labelscope::test {
namespace {

void check_stopped_threads(RivalSet set) {
  skip_without_ptrace();
  const TargetProcess target = start_rivals(set);
  const RivalPlan plan = plan_rivals(target);
  const auto memory = open_process_memory(target.pid());
  for (const TruthThread& truth : target.threads()) {
    INFO(truth.kind);
    Result<StoppedThread> stopped = StoppedThread::stop(truth.tid);
    if (!stopped) FAIL(stopped.error().context);
    const Observation seen = observe(plan.recipes, {*stopped->thread_pointer()}, *memory);
    CHECK(seen.outcome == LS_LABELLED);
    CHECK(seen.flags == LS_KEY_CONFLICT);
    CHECK(seen.labels == rival_labels(target, plan, truth));
    // The labels are three values of "tenant", one "shared", and three keys of one publisher each.
    CHECK(seen.labels.size() == 7);
  }
}

}  // namespace

TEST_CASE("publishers: an executable, a library and a copy of it are all read, each by its name") {
  check_stopped_threads(RivalSet::kLibraryAndCopy);
}

TEST_CASE("publishers: two copies of a library in namespaces of their own are kept apart") {
  check_stopped_threads(RivalSet::kTwoCopies);
}

}  // namespace labelscope::test
