// This reads every thread of a core file once.
#include <algorithm>
#include <span>

#include "labelscope/observe.h"
#include "process/main_program.h"
#include "sampling/snapshot.h"

namespace labelscope {
namespace {

const char* no_thread_pointer(Machine machine) {
  if (machine == Machine::kAarch64) {
    return "the core has no thread pointer of this thread (no NT_ARM_TLS note)";
  }
  return "the core has no thread pointer of this thread (Linux 5.9 to 5.15 writes only that of the "
         "thread that died), and no thread control block with its ID was found";
}

// This remembers which memory the core lacks, among memory that the process had mapped; a wild
// pointer may lead elsewhere.
class NotingMemory final : public MemorySource {
 public:
  NotingMemory(const MemorySource& memory, const std::vector<Mapping>& mappings)
      : memory_(memory), mappings_(mappings) {}

  Status read(Address address, std::span<std::byte> out) const override {
    Status status = memory_.read(address, out);
    if (!status && find_mapping(mappings_, untagged(address)) != nullptr) {
      lacking_ = status.error().context;
    }
    return status;
  }
  Address untagged(Address pointer) const override { return memory_.untagged(pointer); }
  // why memory is lacking; empty if the core has all of it
  const std::string& lacking() const { return lacking_; }

 private:
  const MemorySource& memory_;
  const std::vector<Mapping>& mappings_;
  mutable std::string lacking_;
};

ThreadSnapshot read_thread(const CoreFile& core, const CoreThread& thread,
                           const std::vector<ls_tls_recipe>& recipes, const Meanings& by,
                           const NotingMemory& memory) {
  ThreadSnapshot seen;
  seen.tid = thread.tid;
  seen.first = raw(thread.tid) == raw(core.pid());
  seen.inside = thread.tid;  // cores have the numbers of the process's own pid namespace
  seen.name = thread.name;
  seen.thread_pointer = thread.thread_pointer;
  seen.registers = thread.registers;
  if (!thread.thread_pointer) {
    seen.seen.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
    seen.problem = no_thread_pointer(core.machine());
    return seen;
  }
  seen.seen = observe(recipes, seen.state_read(by), memory);
  if (is_unreadable(seen.seen.outcome)) seen.problem = memory.lacking();
  return seen;
}

}  // namespace

// A publisher is the main executable, or its file name shows that it is one.
bool may_miss_publisher(const CoreFile& core, const ProcessPlan& plan) {
  if (plan.modules == 0) return true;
  std::string executable;
  if (auto mappings = core.mappings()) {
    const auto headers = main_program_headers(core, *mappings);
    const Mapping* mapping = headers ? find_mapping(*mappings, *headers) : nullptr;
    if (mapping != nullptr) executable = mapping->path;
  }
  const auto missing = [&](const CoreFileProblem& problem) {
    if (problem.used) return false;
    // Without a path, the problem is that the files are unknown.
    return executable.empty() || problem.path.empty() || problem.path == executable ||
           is_publisher_name(problem.path);
  };
  const std::vector<CoreFileProblem> problems = core.problems();
  return std::ranges::any_of(problems, missing);
}

Result<ProcessSnapshot> snapshot_core(const CoreFile& core, ProcessPlan plan,
                                      const SnapshotOptions& options) {
  std::unique_ptr<Unwinder> unwinder;
  if (options.stacks) {
    auto opened = Unwinder::open(core, nullptr, options.build_table);
    if (!opened) return std::move(opened).error();
    unwinder = *std::move(opened);
  }
  const std::vector<ls_tls_recipe> recipes = plan.recipes();
  ProcessSnapshot snapshot;
  snapshot.source = SnapshotSource::kCore;
  snapshot.pid = core.pid();
  snapshot.comm = core.comm();
  snapshot.plan = std::move(plan);
  const bool may_miss = may_miss_publisher(core, snapshot.plan);
  const auto mappings = core.mappings();
  if (!mappings) return mappings.error();
  for (const CoreThread& thread : core.threads()) {
    const NotingMemory memory(core.memory(), *mappings);
    ThreadSnapshot seen = read_thread(core, thread, recipes, snapshot.plan.meanings(), memory);
    if (core.truncated() && seen.seen.outcome == LS_UNREADABLE_NO_RECIPE) {
      seen.problem = "the label variable could not be located: the core file is cut short";
    }
    if (may_miss && seen.seen.outcome == LS_UNLABELLED) {
      seen.seen = {LS_UNREADABLE_NO_RECIPE, 0, {}};
    }
    // The kernel notes the same signal for every thread, but the first thread has got it.
    if (snapshot.threads.empty()) seen.signal = thread.signal;
    if (unwinder) {
      seen.stack = unwinder->unwind(thread.registers, core.memory(), std::nullopt);
      while (unwinder->lacks_tables()) {
        unwinder->make_tables(core);
        seen.stack = unwinder->unwind(thread.registers, core.memory(), std::nullopt);
      }
    }
    if (options.while_held) options.while_held(seen, core.memory());
    snapshot.threads.push_back(std::move(seen));
  }
  std::ranges::stable_sort(snapshot.threads, {}, &ThreadSnapshot::tid);
  return snapshot;
}

}  // namespace labelscope
