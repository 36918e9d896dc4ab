// Compares two readers: for one combination of the matrix, the stopped target is read thread by
// thread through ptrace, and all at once through a BPF iterator, from plans that were made through
// process_vm_readv and through BPF. Both must see the target's own labels, with the same flags.
#include <csignal>
#include <fstream>
#include <optional>

#include "bpf/snapshot/task_snapshot.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "process/resolver_matrix.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{30};

std::unique_ptr<BpfProcess> require_bpf(Pid pid) {
  skip_without_ptrace();
  skip_without_bpf_snapshot();
  auto process = BpfProcess::open(pid);
  if (!process) FAIL(process.error().context);
  return *std::move(process);
}

ProcessPlan require_plan(const Target& process) {
  auto plan = Planner().plan(process);
  if (!plan) FAIL(plan.error().context);
  REQUIRE_FALSE(plan->publishers.empty());
  return *std::move(plan);
}

// Stops the whole process, and waits until all threads are stopped, since SIGSTOP takes a moment.
void hold_still(const TargetProcess& target) {
  REQUIRE(::kill(raw(target.pid()), SIGSTOP) == 0);
  const Clock::time_point deadline = Clock::now() + kPatience;
  for (const TruthThread& thread : target.threads()) {
    const std::string path = "/proc/" + std::to_string(raw(target.pid())) + "/task/" +
                             std::to_string(raw(thread.tid)) + "/stat";
    for (char state = '?'; state != 'T';) {
      std::string text;
      std::getline(std::ifstream(path) >> std::ws, text);
      const std::size_t end = text.rfind(')');
      if (end != std::string::npos && end + 2 < text.size()) state = text[end + 2];
      if (Clock::now() > deadline) FAIL("the target does not stop: " << text);
    }
  }
}

std::vector<ls_tls_recipe> recipes_of(const ProcessPlan& plan) {
  std::vector<ls_tls_recipe> recipes;
  for (const Publisher& publisher : plan.publishers) recipes.push_back(publisher.recipe);
  return recipes;
}

struct Seen {
  Address thread_pointer = 0;
  Observation labels;
};

Seen through_ptrace(Tid tid, const std::vector<ls_tls_recipe>& recipes,
                    const MemorySource& memory) {
  auto stopped = StoppedThread::stop(tid);
  if (!stopped) FAIL(stopped.error().context);
  const auto thread_pointer = stopped->thread_pointer();
  REQUIRE(thread_pointer);
  return {*thread_pointer, observe(recipes, {*thread_pointer}, memory)};
}

const ThreadSnapshot& through_bpf(Tid tid, const ProcessSnapshot& snapshot) {
  for (const ThreadSnapshot& thread : snapshot.threads) {
    if (thread.tid == tid) return thread;
  }
  FAIL("the BPF iterator has not seen thread " << raw(tid));
  return snapshot.threads.front();
}

void check_same_recipes(const ProcessPlan& a, const ProcessPlan& b) {
  REQUIRE(a.publishers.size() == b.publishers.size());
  for (std::size_t i = 0; i < a.publishers.size(); ++i) {
    INFO(a.publishers[i].path);
    CHECK(a.publishers[i].path == b.publishers[i].path);
    CHECK(std::memcmp(&a.publishers[i].recipe, &b.publishers[i].recipe, sizeof(ls_tls_recipe)) ==
          0);
  }
}

}  // namespace

TEST_CASE("resolver_matrix: ptrace and BPF read the same labels of the same stopped process") {
  const MatrixCase matrix_case = require_matrix_case();
  const TargetProcess target = start_target(matrix_case, "pause");
  const auto live = LiveProcess::open(target.pid());
  if (!live) FAIL(live.error().context);
  const auto process = require_bpf(target.pid());
  hold_still(target);
  const ProcessPlan plan = require_plan(**live);
  const ProcessPlan bpf_plan = require_plan(*process);
  check_same_recipes(plan, bpf_plan);
  const auto snapshot = snapshot_by_bpf(*process, bpf_plan);
  if (!snapshot) FAIL(snapshot.error().context);
  CHECK(snapshot->threads.size() == target.threads().size());
  CHECK(snapshot->vanished == 0);

  for (const TruthThread& truth : target.threads()) {
    INFO(truth.kind << " thread " << raw(truth.tid));
    const Seen stopped = through_ptrace(truth.tid, recipes_of(plan), (*live)->memory());
    const ThreadSnapshot& running = through_bpf(truth.tid, *snapshot);
    CHECK(stopped.thread_pointer == truth.thread_pointer);
    CHECK(running.thread_pointer == truth.thread_pointer);
    CHECK(running.state == 'T');
    CHECK(running.problem.empty());
    CHECK(outcome_name(running.seen.outcome) == outcome_name(stopped.labels.outcome));
    CHECK(running.seen.flags == stopped.labels.flags);
    CHECK(running.seen.labels == stopped.labels.labels);
    CHECK(printable(sorted_pairs(running.seen.labels)) == printable(true_labels(truth)));
  }
}

}  // namespace labelscope::test
