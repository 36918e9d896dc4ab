// Tests several publishers in one process, sampled: every sample of a thread shows all of them.
#include <algorithm>
#include <map>

#include "kernel/sampling.h"
#include "labelscope/saved_pointer.h"
#include "support/catch.h"
#include "support/rivals.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// This is enough for both threads to have run.
constexpr std::size_t kSamplesOfEach = 5;

std::map<Tid, std::size_t> count_by_thread(const Taken& taken) {
  std::map<Tid, std::size_t> counts;
  for (const TakenSample& sample : taken.samples) {
    if (sample.seen.outcome == LS_LABELLED) counts[sample.tid]++;
  }
  return counts;
}

}  // namespace

TEST_CASE("sampler: three publishers that disagree are all in every sample, each by its index") {
  const TargetProcess target = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan plan = plan_rivals(target);
  const auto sampler = open_sampler();
  Status status = sampler->set_process(target.pid(), plan.recipes);
  if (!status) FAIL(status.error().context);
  status = sampler->start();
  if (!status) FAIL(status.error().context);
  Taken taken;
  drain_until(*sampler, taken, [&] {
    const auto counts = count_by_thread(taken);
    return std::all_of(target.threads().begin(), target.threads().end(),
                       [&](const TruthThread& truth) {
                         const auto found = counts.find(truth.tid);
                         return found != counts.end() && found->second >= kSamplesOfEach;
                       });
  });
  stop_and_balance(*sampler, taken);
  for (const TruthThread& truth : target.threads()) {
    const LabelSet expected = rival_labels(target, plan, truth);
    for (const TakenSample& sample : taken.samples) {
      if (sample.tid != truth.tid) continue;
      // As in sample_until(), a first thread that did not stop in time has such samples first.
      if (kSavedPointerLags && raw(sample.tid) == raw(target.pid()) &&
          sample.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER) {
        continue;
      }
      REQUIRE(sample.seen.outcome == LS_LABELLED);
      REQUIRE((sample.seen.flags & ~std::uint32_t{LS_RETRIED}) == LS_KEY_CONFLICT);
      REQUIRE(sample.seen.labels == expected);
    }
  }
}
