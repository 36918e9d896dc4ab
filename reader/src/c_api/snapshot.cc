// This is the part of the C API that reads all threads of a target, each once.
#include "sampling/snapshot.h"

#include "c_api/boundary.h"
#include "c_api/objects.h"

namespace labelscope::c_api {
namespace {

// The size of ls_snapshot_options in the first version that has them.
constexpr std::size_t kFirstSnapshotOptions = 16;
// The most that a caller may want to wait: a day.
constexpr std::uint64_t kMostPatience = 86'400'000'000'000;

SnapshotOptions translate(const ls_snapshot_options& given) {
  SnapshotOptions options;
  if (given.patience_ns != 0) {
    options.patience = std::chrono::nanoseconds(std::min(given.patience_ns, kMostPatience));
  }
  return options;
}

Result<std::unique_ptr<ls_snapshot>> read_threads(const ls_target& target, const ls_plan& plan,
                                                  const ls_snapshot_options& given) {
  if (Status same = check_program(target, plan); !same) return std::move(same).error();
  auto taken = target.core ? snapshot_core(*target.core, plan.plan, translate(given))
                           : snapshot_process(*target.process, plan.plan, translate(given));
  if (!taken) return std::move(taken).error();
  auto snapshot = std::make_unique<ls_snapshot>();
  snapshot->taken = *std::move(taken);
  for (ThreadSnapshot& thread : snapshot->taken.threads) {
    snapshot->observations.push_back(
        {std::move(thread.seen), thread.thread_pointer.value_or(0), thread.held});
  }
  return snapshot;
}

const ThreadSnapshot* thread_at(const ls_snapshot* snapshot, std::size_t index) {
  return element(snapshot == nullptr ? nullptr : &snapshot->taken.threads, index);
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_read_threads(const ls_target* target, const ls_plan* plan,
                              const ls_snapshot_options* options, ls_snapshot** snapshot,
                              ls_error* error) {
  const auto known = read_options(options, kFirstSnapshotOptions);
  return answer(
      "ls_read_threads: an argument is NULL, or options.size is not "
      "sizeof(ls_snapshot_options), or options that this version does not know are not 0",
      target != nullptr && plan != nullptr && known, snapshot, error,
      [&] { return read_threads(*target, *plan, *known); });
}

void ls_free_snapshot(ls_snapshot* snapshot) { delete snapshot; }

size_t ls_snapshot_thread_count(const ls_snapshot* snapshot) {
  return snapshot == nullptr ? 0 : snapshot->taken.threads.size();
}

int32_t ls_snapshot_thread_id(const ls_snapshot* snapshot, size_t thread) {
  const ThreadSnapshot* found = thread_at(snapshot, thread);
  return found == nullptr ? 0 : raw(found->tid);
}

ls_bytes ls_snapshot_thread_name(const ls_snapshot* snapshot, size_t thread) {
  const ThreadSnapshot* found = thread_at(snapshot, thread);
  return found == nullptr ? no_bytes() : bytes_of(found->name);
}

char ls_snapshot_thread_state(const ls_snapshot* snapshot, size_t thread) {
  const ThreadSnapshot* found = thread_at(snapshot, thread);
  return found == nullptr ? '?' : found->state;
}

const ls_observation* ls_snapshot_observation(const ls_snapshot* snapshot, size_t thread) {
  return element(snapshot == nullptr ? nullptr : &snapshot->observations, thread);
}

ls_bytes ls_snapshot_problem(const ls_snapshot* snapshot, size_t thread) {
  const ThreadSnapshot* found = thread_at(snapshot, thread);
  return found == nullptr ? no_bytes() : bytes_of(found->problem);
}

size_t ls_snapshot_vanished(const ls_snapshot* snapshot) {
  return snapshot == nullptr ? 0 : snapshot->taken.vanished;
}

int ls_snapshot_is_incomplete(const ls_snapshot* snapshot) {
  return snapshot != nullptr && snapshot->taken.incomplete ? 1 : 0;
}
