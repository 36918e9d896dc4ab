// Tests the C API's reading of all threads at once, of a live process and of a core file.
#include <algorithm>
#include <map>
#include <vector>

#include "process/c_api_objects.h"
#include "support/paths.h"
#include "support/rivals.h"

namespace labelscope::test {
namespace {

OwnedSnapshot read_threads(const ls_target* target, const ls_plan* plan,
                           const ls_snapshot_options* options = nullptr) {
  ls_snapshot* snapshot = nullptr;
  ls_error error;
  require_ok(ls_read_threads(target, plan, options, &snapshot, &error), error);
  return OwnedSnapshot(snapshot);
}

std::map<Tid, std::size_t> index_of(const ls_snapshot* snapshot) {
  std::map<Tid, std::size_t> index;
  for (std::size_t i = 0; i < ls_snapshot_thread_count(snapshot); ++i) {
    CHECK(index.emplace(Tid{ls_snapshot_thread_id(snapshot, i)}, i).second);
  }
  return index;
}

}  // namespace

TEST_CASE("c_api_snapshot: each thread is there once, with its own labels, name and state") {
  const TargetProcess process = start_target(paths::kCrowdProgram, {"--threads", "100"});
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  const OwnedSnapshot snapshot = read_threads(target.get(), plan.get());
  REQUIRE(process.threads().size() == 100);
  CHECK(ls_snapshot_thread_count(snapshot.get()) == 101);
  CHECK(ls_snapshot_vanished(snapshot.get()) == 0);
  CHECK(ls_snapshot_is_incomplete(snapshot.get()) == 0);
  const auto index = index_of(snapshot.get());
  for (const TruthThread& thread : process.threads()) {
    REQUIRE(index.contains(thread.tid));
    const std::size_t i = index.at(thread.tid);
    const ls_observation* seen = ls_snapshot_observation(snapshot.get(), i);
    CHECK(labels_of(seen) == thread.variables.front().labels);
    CHECK(ls_observed_thread_pointer(seen) == thread.thread_pointer);
    CHECK(ls_observed_hold_time(seen) > 0);
    CHECK(ls_snapshot_problem(snapshot.get(), i).size == 0);
    CHECK(text_of(ls_snapshot_thread_name(snapshot.get(), i)).starts_with("crowd"));
    // It sleeps, or is on its way there.
    const char state = ls_snapshot_thread_state(snapshot.get(), i);
    CHECK((state == 'S' || state == 'R'));
  }
  std::vector<int> tids;
  for (std::size_t i = 0; i < 101; ++i) tids.push_back(ls_snapshot_thread_id(snapshot.get(), i));
  CHECK(std::ranges::is_sorted(tids));
  CHECK(ls_snapshot_observation(snapshot.get(), 101) == nullptr);
  CHECK(ls_snapshot_thread_id(snapshot.get(), 101) == 0);
  CHECK(ls_snapshot_thread_state(snapshot.get(), SIZE_MAX) == '?');
  CHECK(ls_snapshot_thread_name(snapshot.get(), SIZE_MAX).size == 0);
  CHECK(ls_snapshot_problem(snapshot.get(), SIZE_MAX).size == 0);
}

TEST_CASE("c_api_snapshot: threads that come and go are read or counted") {
  const TargetProcess process =
      start_target(paths::kCrowdProgram, {"--threads", "10", "--churn", "2"});
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  ls_snapshot_options options{};
  options.size = sizeof options;
  options.patience_ns = 20'000'000'000;  // the processors have other users, too
  for (int round = 0; round < 5; ++round) {
    const OwnedSnapshot snapshot = read_threads(target.get(), plan.get(), &options);
    const auto index = index_of(snapshot.get());
    for (const TruthThread& thread : process.threads()) {
      REQUIRE(index.contains(thread.tid));
      const auto* seen = ls_snapshot_observation(snapshot.get(), index.at(thread.tid));
      CHECK(labels_of(seen) == thread.variables.front().labels);
    }
  }
}

TEST_CASE("c_api_snapshot: it outlives its target and plan, and has several publishers' labels") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan truth = plan_rivals(process);
  OwnedTarget target = open_process(process.pid());
  OwnedPlan plan = make_plan(target.get());
  const OwnedSnapshot snapshot = read_threads(target.get(), plan.get());
  target.reset();
  plan.reset();
  const auto index = index_of(snapshot.get());
  CHECK(index.size() == process.threads().size());
  for (const TruthThread& thread : process.threads()) {
    const auto* seen = ls_snapshot_observation(snapshot.get(), index.at(thread.tid));
    CHECK(labels_of(seen) == rival_labels(process, truth, thread));
    CHECK(ls_observed_flags(seen) == LS_KEY_CONFLICT);
  }
}

TEST_CASE("c_api_snapshot: the threads of a core file, which are not stopped") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const RivalPlan truth = plan_rivals(process);
  const TempFolder folder;
  const std::string path = dump_core(process.pid(), folder.path());
  if (path.empty()) skip_test("gcore is not installed, or may not dump this process");
  const OwnedTarget target = open_core(path, "/");
  const OwnedPlan plan = make_plan(target.get());
  const OwnedSnapshot snapshot = read_threads(target.get(), plan.get());
  const auto index = index_of(snapshot.get());
  CHECK(index.size() == process.threads().size());
  for (const TruthThread& thread : process.threads()) {
    const auto* seen = ls_snapshot_observation(snapshot.get(), index.at(thread.tid));
    CHECK(labels_of(seen) == rival_labels(process, truth, thread));
    CHECK(ls_observed_hold_time(seen) == 0);
  }
}

TEST_CASE("c_api_snapshot: options of an unknown size, and a plan of another process") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const TargetProcess other = start_rivals(RivalSet::kTwoCopies);
  const OwnedTarget target = open_process(process.pid());
  const OwnedTarget another = open_process(other.pid());
  const OwnedPlan plan = make_plan(target.get());
  const OwnedPlan of_other = make_plan(another.get());
  ls_snapshot* snapshot = nullptr;
  ls_error error;
  ls_snapshot_options options{};
  for (const std::size_t size : {std::size_t{0}, sizeof options - 1, SIZE_MAX}) {
    options.size = size;
    CHECK(ls_read_threads(target.get(), plan.get(), &options, &snapshot, &error) ==
          LS_ERROR_ARGUMENT);
  }
  options.size = sizeof options;
  options.patience_ns = UINT64_MAX;  // more than it is ever waited for
  read_threads(target.get(), plan.get(), &options);
  CHECK(ls_read_threads(target.get(), of_other.get(), nullptr, &snapshot, &error) ==
        LS_ERROR_VANISHED);
  CHECK(mentions(error.text, "plan"));
  CHECK(snapshot == nullptr);
}

}  // namespace labelscope::test
