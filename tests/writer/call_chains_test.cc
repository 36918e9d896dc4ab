// Runs the chains of calls of the single-step tests at full speed: each call leaves the set that
// the chain expects. The random chains are many times longer here.
#include <string>

#include "support/catch.h"
#include "writer/label_steps.h"

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kSeeds = 20;
#else
constexpr unsigned kSeeds = 200;
#endif
constexpr std::size_t kCalls = 500;

// Stops at the first error, since all that follow would be wrong, too.
void run_chain(const std::vector<LabelStep>& steps) {
  for (const LabelStep& step : steps) {
    step.act();
    INFO(step.name);
    REQUIRE(to_string(current_labels()) == to_string(step.after));
    REQUIRE(is_set(custom_labels_current_set, step.after));
  }
}

}  // namespace

TEST_CASE_METHOD(NoLabels, "call_chains: the thread's own labels") {
  CHECK(custom_labels_current_set == nullptr);
  run_chain(label_steps());
  run_chain(label_steps());
}

TEST_CASE_METHOD(NoLabels, "call_chains: sets as objects, and both modes on one thread") {
  run_chain(label_set_steps());
  run_chain(label_set_steps());
}

TEST_CASE_METHOD(NoLabels, "call_chains: any calls in any order do what the model says") {
  const unsigned first = Catch::rngSeed();
  for (unsigned seed = first; seed < first + kSeeds; ++seed) {
    INFO("random_steps(" << seed << ", " << kCalls << ")");
    run_chain(random_steps(seed, kCalls));
  }
}
