// Tests thread pointers that the kernel has not saved yet (labelscope/saved_pointer.h), of a
// program that was just executed and never leaves its processor. On other processors than aarch64
// there is nothing to wait for, and the same must hold.
#include <sched.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>

#include "bpf/snapshot/task_snapshot.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "labelscope/plan.h"
#include "labelscope/saved_pointer.h"
#include "labelscope/target.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr const char* kPrograms[] = {"glibc", "glibc-static", "musl", "musl-static"};
const LabelSet kLabels{{"early", "bird", 0}};

// Takes the last processor for this process alone, with a priority before all ordinary processes.
// Others keep at least one. Where that is not possible, the test is weaker and still right.
void claim_processor() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0 || CPU_COUNT(&processors) < 2) {
    return;
  }
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &processors)) --last;
  CPU_ZERO(&processors);
  CPU_SET(last, &processors);
  sched_setaffinity(0, sizeof processors, &processors);
  const sched_param first{.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO, &first);
}

std::string program_path(const char* name) {
  std::string path = std::string(paths::kEarlyPrograms) + "/" + name;
  if (access(path.c_str(), X_OK) != 0) skip_test(std::string(name) + " was not built here");
  return path;
}

// Executes the program at the parent's word.
std::unique_ptr<SampledChild> start(const std::string& program) {
  auto child = std::make_unique<SampledChild>([&](ChildSide& parent) {
    claim_processor();
    parent.say(1);
    parent.wait_until_told();
    execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    _exit(1);
  });
  child->hear();
  return child;
}

// Returns the recipes, once they lead to the variable.
std::vector<ls_tls_recipe> plan_when_ready(Pid pid) {
  auto process = LiveProcess::open(pid);
  if (!process) return {};
  auto plan = Planner().plan(**process);
  if (!plan || plan->publishers.size() != 1) return {};
  const ls_tls_recipe& recipe = plan->publishers.front().recipe;
  if (recipe.kind != LS_TP_OFFSET) return {};
  return {recipe};
}

}  // namespace

TEST_CASE("sampler: no label is wrong and none is lost while a thread pointer is not saved") {
  const char* name = GENERATE(from_range(std::begin(kPrograms), std::end(kPrograms)));
  INFO(name);
  const std::string program = program_path(name);
  auto child = start(program);
  auto sampler = open_sampler({.frequency_hz = 499});
  ls_tls_recipe not_planned{};
  not_planned.kind = LS_RECIPE_NOT_RELOCATED;
  REQUIRE(sampler->set_process(child->pid(), {&not_planned, 1}));
  REQUIRE(sampler->start());
  child->tell();
  Taken taken;
  drain_until(*sampler, taken, [&] { return !taken.execs.empty(); });
  std::vector<ls_tls_recipe> recipes;
  drain_until(*sampler, taken, [&] {
    recipes = plan_when_ready(child->pid());
    return !recipes.empty();
  });
  REQUIRE(sampler->set_process(child->pid(), recipes));
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_LABELLED) >= 50; });
  Counters counters = stop_and_balance(*sampler, taken);
  CHECK(counters.others[Counter::kFirstThreadsNotStopped] == 0);

  std::sort(taken.samples.begin(), taken.samples.end(),
            [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  bool labelled = false;
  for (const TakenSample& sample : taken.samples) {
    INFO(outcome_name(sample.seen.outcome) << (labelled ? ", after labels were seen" : ""));
    if (sample.seen.outcome == LS_LABELLED) {
      labelled = true;
      REQUIRE(sample.seen.labels == kLabels);
      continue;
    }
    // Until main() begins, the program has no labels. A look at the old program's address would
    // find nothing.
    REQUIRE_FALSE(labelled);
    REQUIRE((sample.seen.outcome == LS_UNLABELLED ||
             sample.seen.outcome == LS_UNREADABLE_NOT_RELOCATED ||
             sample.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER));
  }
}

TEST_CASE("sampler: a first thread that may not be stopped has no labels, and is counted") {
  if (!kSavedPointerLags) skip_test("this processor's thread pointers are always saved");
  SampledChild child([](ChildSide& parent) {
    std::vector<custom_labels_label_t> slots = {label("early", "bird")};
    publish_labels(slots);
    parent.say(1);
    parent.burn_until_told();
  });
  child.hear();
  SampledChild tracer([&](ChildSide& parent) {
    parent.say(static_cast<std::uint64_t>(ptrace(PTRACE_SEIZE, raw(child.pid()), nullptr, 0)));
    for (;;) pause();
  });
  REQUIRE(tracer.hear() == 0);
  auto sampler = open_sampler({.frequency_hz = 499});
  const ls_tls_recipe recipe = child.recipe();
  REQUIRE(sampler->set_process(child.pid(), {&recipe, 1}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.samples.size() >= 20; });
  CHECK(taken.of_outcome(LS_UNREADABLE_NO_THREAD_POINTER) == taken.samples.size());
  CHECK(sampler->counters().others[Counter::kFirstThreadsNotStopped] == 1);
  // The sampler asks again when no tracer is in the way.
  tracer.kill();
  tracer.wait();
  drain_until(*sampler, taken, [&] { return taken.of_outcome(LS_LABELLED) >= 20; });
  Counters counters = stop_and_balance(*sampler, taken);
  CHECK(counters.others[Counter::kFirstThreadsNotStopped] == 0);
}

TEST_CASE("task_snapshot: a thread that never leaves its processor has its labels") {
  skip_without_bpf_snapshot();
  const char* name = GENERATE(from_range(std::begin(kPrograms), std::end(kPrograms)));
  INFO(name);
  const std::string program = program_path(name);
  auto child = start(program);
  child->tell();
  std::vector<ls_tls_recipe> recipes;
  wait_for([&] {
    char executed[4096];
    const std::string link = "/proc/" + std::to_string(raw(child->pid())) + "/exe";
    const ssize_t size = readlink(link.c_str(), executed, sizeof executed);
    if (size < 0 || std::string_view(executed, static_cast<std::size_t>(size)) != program)
      return false;
    recipes = plan_when_ready(child->pid());
    return !recipes.empty();
  });
  bool labelled = false;
  wait_for([&] {
    auto process = BpfProcess::open(child->pid());
    REQUIRE(process);
    auto plan = Planner().plan(**process);
    REQUIRE(plan);
    auto snapshot = snapshot_by_bpf(**process, *std::move(plan));
    INFO((snapshot ? "" : snapshot.error().context));
    REQUIRE(snapshot);
    REQUIRE(snapshot->threads.size() == 1);
    const ThreadSnapshot& thread = snapshot->threads.front();
    INFO(outcome_name(thread.seen.outcome) << ": " << thread.problem);
    labelled = thread.seen.outcome == LS_LABELLED;
    if (labelled) {
      REQUIRE(thread.seen.labels == kLabels);
    } else {
      REQUIRE((thread.seen.outcome == LS_UNLABELLED ||
               thread.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER));
    }
    return labelled;
  });
}
