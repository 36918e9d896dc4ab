// Starts rivals, plans them, and distinguishes them by address.
#include "support/rivals.h"

#include <algorithm>

#include "labelscope/observe.h"
#include "labelscope/target.h"
#include "support/catch.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

constexpr std::size_t kPublishers = 3;

const TruthVariable& variable_at(const TruthThread& truth, Address address) {
  auto found =
      std::find_if(truth.variables.begin(), truth.variables.end(),
                   [&](const TruthVariable& variable) { return variable.address == address; });
  if (found == truth.variables.end()) FAIL("no publisher has its variable at " << address);
  return *found;
}

bool has_pair(const LabelSet& labels, const Label& wanted) {
  return std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
    return label.key == wanted.key && label.value == wanted.value;
  });
}

}  // namespace

TargetProcess start_rivals(RivalSet set) {
  const std::string second = set == RivalSet::kTwoCopies ? "--dlmopen" : "--dlopen";
  Result<TargetProcess> target = TargetProcess::spawn(
      {.program = paths::kRivals,
       .arguments = {second, paths::kRivalsLibrary, "--dlmopen", paths::kRivalsLibrary},
       .environment = {}});
  if (!target) FAIL(target.error().context);
  REQUIRE(target->threads().size() == 2);
  return std::move(*target);
}

RivalPlan plan_rivals(const TargetProcess& target) {
  const auto process = LiveProcess::open(target.pid());
  if (!process) FAIL(process.error().context);
  Planner planner;
  Result<ProcessPlan> plan = planner.plan(**process);
  if (!plan) FAIL(plan.error().context);
  REQUIRE(plan->publishers.size() == kPublishers);
  RivalPlan planned{*std::move(plan), {}};
  for (const Publisher& publisher : planned.plan.publishers) {
    planned.recipes.push_back(publisher.recipe);
  }
  return planned;
}

LabelSet rival_labels(const TargetProcess& target, const RivalPlan& plan,
                      const TruthThread& truth) {
  const auto memory = open_process_memory(target.pid());
  LabelSet expected;
  for (std::size_t i = 0; i < plan.recipes.size(); ++i) {
    const Publisher& publisher = plan.plan.publishers[i];
    const Located located = locate(publisher.recipe, truth.thread_pointer, *memory);
    INFO(publisher.path << " (" << access_model_name(publisher.model) << "), thread "
                        << raw(truth.tid));
    REQUIRE(located.address);
    const TruthVariable& variable = variable_at(truth, *located.address);
    CHECK(publisher.path.ends_with("/" + variable.module));
    for (Label label : variable.labels) {
      label.publisher = static_cast<std::uint8_t>(i);
      if (!has_pair(expected, label)) expected.push_back(label);
    }
  }
  return expected;
}

}  // namespace labelscope::test
