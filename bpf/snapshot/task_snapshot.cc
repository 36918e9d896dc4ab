#include "bpf/snapshot/task_snapshot.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "bpf/snapshot/task_iterators.h"
#include "bpf/wire/task_records.h"
#include "labelscope/saved_pointer.h"

namespace labelscope {
namespace {

ls_request request_for(const ProcessPlan& plan) {
  ls_request request{};
  for (const ls_tls_recipe& recipe : plan.recipes()) {
    if (request.recipes.count == LS_MAX_PUBLISHERS) break;
    request.recipes.recipe[request.recipes.count++] = recipe;
  }
  return request;
}

// Drops labels that were read through a thread pointer which may be an earlier program's.
void forget_doubtful(ThreadSnapshot& thread, const Result<SavedPointer>& saved) {
  thread.thread_pointer.reset();
  thread.seen = {};
  thread.seen.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  thread.problem = "the kernel may not have saved its thread pointer yet";
  if (!saved) thread.problem += ", and it may not be stopped for that: " + saved.error().context;
}

// Returns a thread as the snapshot lists it, or nothing if the thread has ended meanwhile. A first
// thread stays listed, as in the kernel, until the last thread has ended.
std::optional<ThreadSnapshot> listed(ThreadRecord record, Pid pid) {
  ThreadSnapshot& thread = record.thread;
  thread.first = raw(thread.tid) == raw(pid);
  if (record.ended) {
    if (!thread.first) return std::nullopt;
    thread.seen = {};
    thread.seen.outcome = LS_UNREADABLE_VANISHED;
    thread.thread_pointer.reset();
    thread.problem = "the first thread has ended";
  } else if (thread.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER) {
    thread.problem =
        "the kernel has not saved its thread pointer: it has set one and was not switched out "
        "since, or has none";
  }
  return std::move(thread);
}

}  // namespace

Result<ProcessSnapshot> snapshot_by_bpf(const BpfProcess& process, ProcessPlan plan) {
  const auto saved = refresh_saved_pointer(process.pid());
  ProcessSnapshot snapshot;
  snapshot.source = SnapshotSource::kBpf;
  snapshot.pid = process.pid();
  snapshot.comm = process.comm();
  Status status =
      process.iterators().run(TaskIterators::Kind::kThreads, request_for(plan),
                              [&](std::span<const std::byte> bytes) -> Status {
                                auto record = decode_thread(bytes, plan.meanings());
                                if (!record) return std::move(record).error();
                                const bool doubtful = record->pointer_lags && !record->ended &&
                                                      !(saved && *saved == SavedPointer::kTrue);
                                if (auto thread = listed(*std::move(record), process.pid())) {
                                  if (doubtful) forget_doubtful(*thread, saved);
                                  snapshot.threads.push_back(*std::move(thread));
                                } else {
                                  ++snapshot.vanished;
                                }
                                return {};
                              },
                              plan.presets);
  if (!status) return std::move(status).error();
  if (snapshot.threads.empty()) {
    return Error{ErrorCode::kVanished,
                 "process " + std::to_string(raw(process.pid())) + " has ended"};
  }
  std::ranges::sort(snapshot.threads, {}, &ThreadSnapshot::tid);
  snapshot.plan = std::move(plan);
  return snapshot;
}

}  // namespace labelscope
