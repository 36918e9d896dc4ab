// Tests the resolver on live processes: for one combination of the matrix, every thread's variable
// is found where the target itself says it is. Its labels, read from the stopped thread, are the
// target's own.
#include "process/resolver_matrix.h"

#include <algorithm>
#include <optional>
#include <set>

#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

ProcessPlan require_plan(const Target& process) {
  Planner planner;
  Result<ProcessPlan> plan = planner.plan(process);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

// Publishers that the loader bound to one variable are one publisher, under any of their names.
// Thread 0 has touched all of them, so its addresses show it.
std::vector<std::string> names_of(const TruthThread& main_thread, std::size_t variable) {
  std::vector<std::string> names;
  for (const TruthVariable& other : main_thread.variables) {
    if (other.address == main_thread.variables[variable].address) names.push_back(other.module);
  }
  return names;
}

// Returns the number of distinct publishers, which is the least that a plan must have.
std::size_t count_variables(const TruthThread& main_thread) {
  std::set<std::optional<Address>> addresses;
  for (const TruthVariable& variable : main_thread.variables) addresses.insert(variable.address);
  return addresses.size();
}

const Publisher& require_publisher(const ProcessPlan& plan, const std::vector<std::string>& names) {
  for (const Publisher& publisher : plan.publishers) {
    const std::string file = publisher.path.substr(publisher.path.rfind('/') + 1);
    if (std::find(names.begin(), names.end(), file) != names.end()) return publisher;
  }
  FAIL("no publisher " << names.front() << " in the plan. " << plan.absence());
  return plan.publishers.front();
}

// If the thread touched the variable, its address must be found; otherwise none, or one that holds
// null.
void check_variable(const MatrixCase& matrix_case, const Publisher& publisher,
                    const TruthVariable& variable, Address thread_pointer,
                    const MemorySource& memory) {
  INFO("publisher " << variable.module << ", " << access_model_name(publisher.model));
  for (const Finding& finding : publisher.findings) {
    UNSCOPED_INFO("finding: " << finding_clause(finding));
  }
  const Located located = locate(publisher.recipe, thread_pointer, memory);
  if (variable.address) {
    REQUIRE(located.address);
    CHECK(*located.address == *variable.address);
    return;
  }
  if (allocates_on_touch(matrix_case)) {
    CHECK_FALSE(located.address);
    CHECK((located.flags & LS_NEVER_TOUCHED) != 0);
  }
  if (!located.address) {
    CHECK(located.outcome == LS_UNLABELLED);
    return;
  }
  const Result<Address> set = read_value<Address>(memory, *located.address);
  REQUIRE(set);
  CHECK(*set == 0);
}

void check_thread(const MatrixCase& matrix_case, const ProcessPlan& plan,
                  const TruthThread& main_thread, const TruthThread& truth,
                  const MemorySource& memory) {
  INFO(truth.kind << " thread " << raw(truth.tid));
  skip_without_ptrace();
  Result<StoppedThread> stopped = StoppedThread::stop(truth.tid);
  if (!stopped) FAIL(stopped.error().context);
  const Result<Address> thread_pointer = stopped->thread_pointer();
  REQUIRE(thread_pointer);
  REQUIRE(*thread_pointer == truth.thread_pointer);
  REQUIRE(truth.variables.size() == main_thread.variables.size());
  for (std::size_t i = 0; i < truth.variables.size(); ++i) {
    const Publisher& publisher = require_publisher(plan, names_of(main_thread, i));
    check_variable(matrix_case, publisher, truth.variables[i], *thread_pointer, memory);
  }

  std::vector<ls_tls_recipe> recipes;
  recipes.reserve(plan.publishers.size());
  for (const Publisher& publisher : plan.publishers) recipes.push_back(publisher.recipe);
  const Observation seen = observe(recipes, {*thread_pointer}, memory);
  const LabelPairs expected = true_labels(truth);
  INFO("read " << printable(sorted_pairs(seen.labels)) << " instead of " << printable(expected));
  CHECK(outcome_name(seen.outcome) == outcome_name(expected.empty() ? LS_UNLABELLED : LS_LABELLED));
  CHECK(sorted_pairs(seen.labels) == expected);
  // The worker's set has two equal keys and an element without a key, but does not break the ABI.
  CHECK(((seen.flags & LS_DUPLICATE_KEY) != 0) == (truth.kind == "worker"));
  CHECK((seen.flags & ~(LS_DUPLICATE_KEY | LS_NEVER_TOUCHED)) == 0);
}

}  // namespace

TEST_CASE("resolver_matrix: every stopped thread is read where and as the target says") {
  const MatrixCase matrix_case = require_matrix_case();
  const TargetProcess target = start_target(matrix_case, "pause");
  const auto process = LiveProcess::open(target.pid());
  if (!process) FAIL(process.error().context);
  const ProcessPlan plan = require_plan(**process);
  for (const Refusal& refusal : plan.refusals)
    UNSCOPED_INFO(refusal.path << ": " << finding_clause(refusal.finding));
  CHECK(plan.refusals.empty());
  const TruthThread& main_thread = target.threads().front();
  CHECK(plan.publishers.size() >= count_variables(main_thread));
  CHECK(plan.publishers.size() <= main_thread.variables.size());
  CHECK_FALSE(plan.plan_again);
  for (const TruthThread& truth : target.threads()) {
    check_thread(matrix_case, plan, main_thread, truth, (*process)->memory());
  }
}

}  // namespace labelscope::test
