// The order of work for a live process: open it, plan, and get everything ready while it runs; only
// then stop its threads, one at a time; explain and name what was read when it runs again.
#include "cli/dump/take_dump.h"

#include <algorithm>
#include <map>

#include "bpf/snapshot/task_snapshot.h"
#include "cli/process/frozen_group.h"
#include "cli/profile/address_space.h"
#include "cli/text/escape.h"
#include "cli/unwind/table_worker.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// Splits the stacks of a dump into modules and locations, and gives them names.
class StackNamer {
 public:
  // `pid` is that of a live process.
  explicit StackNamer(Pid pid = {}) : space_(modules_, pid) {}

  // Reads what is mapped, and keeps the first of its files open. It is called before and after the
  // threads are read. What cannot be read now only leaves addresses without names.
  void look_at(const Target& target) { [[maybe_unused]] const Status status = space_.load(target); }

  // Call it once, after the threads were read.
  NamedStacks name(const Target& target, const std::vector<ThreadSnapshot>& threads,
                   FileNamer& namer, const SymbolizerOptions& options) {
    NamedStacks named;
    Profile& profile = named.profile;
    for (const ThreadSnapshot& thread : threads) {
      named.of_thread.push_back(thread.stack ? static_cast<Index>(profile.stacks.size())
                                             : kNoIndex);
      if (!thread.stack) continue;
      Stack stack{{}, thread.stack->end};
      for (const std::uint64_t word : thread.stack->frames) {
        // All frames but the first are return addresses (unwind.h): the call is in front of them.
        const Address address = frame_of(word).value;
        const Address code = stack.frames.empty() ? address : address - 1;
        stack.frames.push_back(location_at(target, profile, code));
      }
      profile.stacks.push_back(std::move(stack));
    }
    std::vector<ModuleFile> files;
    profile.modules = modules_.take(files);
    symbolize(profile, files, namer, options);
    return named;
  }

 private:
  Index location_at(const Target& target, Profile& profile, Address address) {
    auto [known, fresh] =
        locations_.try_emplace(address, static_cast<Index>(profile.locations.size()));
    if (fresh) {
      const Index module = space_.module_at(address, [&] { return &target; });
      profile.locations.push_back({module, address, {}});
    }
    return known->second;
  }

  ModuleTable modules_;
  AddressSpace space_;
  std::map<Address, Index> locations_;
};

// A process may execute another program while it is read, but not many times in a row.
constexpr int kMostAttempts = 3;

Result<ProcessPlan> plan_target(const Target& target, const DumpOptions& options,
                                ProcessDump& dump) {
  PlanTrace trace;
  Planner planner(
      {.variables = options.unpublished.variables, .presets = options.unpublished.presets});
  auto plan = planner.plan(target, options.explain ? &trace : nullptr);
  if (plan && options.explain) dump.explanation = explain_plan(*plan, trace);
  return plan;
}

// The worker of `tables` reads the files of the target. `dump` and `plan` are used while threads
// are held.
SnapshotOptions snapshot_options(const DumpOptions& options, ProcessDump& dump,
                                 const ProcessPlan& plan, TableWorker& tables) {
  SnapshotOptions snapshot;
  snapshot.stacks = options.stacks;
  snapshot.max_stop = options.max_stop;
  snapshot.build_table = [&](UniqueFd file) { return tables.build(std::move(file)); };
  if (options.explain) {
    snapshot.while_held = [&](const ThreadSnapshot& thread, const MemorySource& memory) {
      if (!thread.thread_pointer) return;
      Explanation& explanation = dump.of_threads[thread.tid];
      explanation = explain_thread(plan, thread.state_read(), memory);
      // A pointer into memory that a core file lacks is no fault of the writer's.
      if (!thread.problem.empty()) explanation.findings.clear();
    };
  }
  return snapshot;
}

Result<ProcessDump> try_ptrace(Pid pid, const DumpOptions& options, FileNamer& files,
                               const SymbolizerOptions& symbolizing) {
  auto process = LiveProcess::open(pid);
  if (!process) return std::move(process).error();
  ProcessDump dump;
  dump.command_line = (*process)->command_line();
  auto plan = plan_target(**process, options, dump);
  if (!plan) {
    const bool refused = plan.error().code == ErrorCode::kPermission;
    if (!refused) return std::move(plan).error();
    return StoppedThread::refusal((*process)->seen_through(), std::move(plan).error());
  }
  StackNamer namer(pid);
  if (options.stacks) namer.look_at(**process);
  TableWorker tables;
  auto snapshot =
      snapshot_process(**process, *plan, snapshot_options(options, dump, *plan, tables));
  if (!snapshot) return std::move(snapshot).error();
  dump.without_table = tables.failures();
  dump.snapshot = *std::move(snapshot);
  if (options.stacks) namer.look_at(**process);  // it has what was loaded meanwhile
  if (options.stacks) {
    dump.stacks = namer.name(**process, dump.snapshot.threads, files, symbolizing);
  }
  return dump;
}

// A thread that ran while BPF read it mostly waits when it is read again.
constexpr int kMostReads = 4;

bool is_doubtful(const ThreadSnapshot& thread) {
  return thread.ran || thread.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER;
}

// Reads threads again that ran while BPF read them, or whose thread pointer the kernel has not
// saved yet: by BPF some times, and then by ptrace those that ran each time. A thread that runs
// seldom would mostly be in a system call by the time at which it is stopped, and a stop interrupts
// some calls for good. Fails with kVanished if the process has become another program meanwhile.
Status read_running(const BpfProcess& by_bpf, ProcessDump& dump) {
  const LiveProcess& process = by_bpf.live();
  std::map<Tid, ThreadSnapshot*> running;
  for (ThreadSnapshot& thread : dump.snapshot.threads) {
    if (is_doubtful(thread)) running[thread.tid] = &thread;
  }
  for (int reads = 1; reads < kMostReads && !running.empty(); ++reads) {
    auto again = snapshot_by_bpf(by_bpf, dump.snapshot.plan);
    if (!again || process.has_replaced_program()) break;
    for (ThreadSnapshot& thread : again->threads) {
      const auto known = running.find(thread.tid);
      if (known == running.end() || is_doubtful(thread)) continue;
      *known->second = std::move(thread);
      running.erase(known);
    }
  }
  if (running.empty()) return {};
  SnapshotOptions options;
  options.only.emplace();
  for (const auto& [tid, thread] : running) options.only->insert(tid);
  auto again = snapshot_process(process, dump.snapshot.plan, options);
  if (!again) {
    if (process.has_replaced_program()) return std::move(again).error();
    if (again.error().code == ErrorCode::kPermission) dump.refusal = again.error().context;
    return {};  // what BPF has read stays
  }
  dump.snapshot.longest_late_stop = again->longest_late_stop;
  for (ThreadSnapshot& thread : again->threads) {
    if (thread.problem.empty()) *running.at(thread.tid) = std::move(thread);
  }
  return {};
}

Result<ProcessDump> try_bpf(Pid pid, const DumpOptions& options, bool stops_running) {
  auto process = BpfProcess::open(pid);
  if (!process) return std::move(process).error();
  ProcessDump dump;
  auto plan = plan_target(**process, options, dump);
  if (!plan) return std::move(plan).error();
  if (auto live = LiveProcess::open(pid)) dump.command_line = (*live)->command_line();
  auto snapshot = snapshot_by_bpf(**process, *std::move(plan));
  if (!snapshot) return std::move(snapshot).error();
  dump.snapshot = *std::move(snapshot);
  if (stops_running) {
    if (Status read = read_running(**process, dump); !read) return std::move(read).error();
  }
  if (!options.explain) return dump;
  for (const ThreadSnapshot& thread : dump.snapshot.threads) {
    if (!thread.thread_pointer) continue;
    dump.of_threads[thread.tid] =
        explain_thread(dump.snapshot.plan, thread.state_read(), (*process)->memory());
  }
  return dump;
}

// A thread has used a key that the process has named only since it was planned.
bool has_later_names(const ProcessSnapshot& snapshot) {
  const ProcessFacts* facts = snapshot.plan.facts.get();
  return facts != nullptr &&
         std::ranges::any_of(snapshot.threads,
                             [](const ThreadSnapshot& thread) {
                               return (thread.seen.flags & LS_UNKNOWN_KEY) != 0;
                             }) &&
         has_changed(*facts, *open_process_memory(snapshot.pid));
}

// Repeats it if the process has become another program meanwhile, or has published more names.
template <class Take>
Result<ProcessDump> with_attempts(Pid pid, Take take) {
  Result<ProcessDump> dump = take();
  for (int attempt = 1; attempt < kMostAttempts; ++attempt) {
    const bool again = dump ? has_later_names(dump->snapshot)
                            : dump.error().code == ErrorCode::kVanished && LiveProcess::open(pid);
    if (!again) break;
    dump = take();
  }
  return dump;
}

}  // namespace

Result<ProcessDump> dump_by_ptrace(Pid pid, const DumpOptions& options, FileNamer& files,
                                   const SymbolizerOptions& symbolizing) {
  return with_attempts(pid, [&] { return try_ptrace(pid, options, files, symbolizing); });
}

Result<ProcessDump> dump_by_bpf(Pid pid, const DumpOptions& options, bool stops_running) {
  return with_attempts(pid, [&] { return try_bpf(pid, options, stops_running); });
}

LateThreads late_threads(const ProcessSnapshot& snapshot) {
  LateThreads late;
  for (const ThreadSnapshot& thread : snapshot.threads) {
    // One that sleeps otherwise stops as soon as it has a processor.
    if (thread.late) ++(thread.state == 'D' ? late.waiting_in_kernel : late.waiting_for_processor);
  }
  if (late.waiting_in_kernel == 0) return late;
  if (const auto group = frozen_group_of(snapshot.pid)) {
    late.frozen = escape_terminal(group->reason());
  }
  return late;
}

std::string LateThreads::what_they_do() const {
  if (waiting_in_kernel == 0) return "waited for a processor and did not stop in time";
  if (!frozen.empty()) return "did not stop, because the process is frozen: " + frozen;
  const std::string in_kernel = "waited in the kernel for something that nothing interrupts";
  return (waiting_for_processor == 0 ? in_kernel : "waited for a processor, or " + in_kernel) +
         " and did not stop in time";
}

Status read_late_by_bpf(ProcessDump& dump, const DumpOptions& options) {
  auto read = dump_by_bpf(dump.snapshot.pid, options, /*stops_running=*/false);
  if (!read) return std::move(read).error();
  // A label names its publisher by its place in the plan.
  const auto& publishers = dump.snapshot.plan.publishers;
  const auto& now = read->snapshot.plan.publishers;
  if (!std::equal(publishers.begin(), publishers.end(), now.begin(), now.end(),
                  [](const Publisher& a, const Publisher& b) {
                    return publisher_title(a) == publisher_title(b);
                  })) {
    return Error{ErrorCode::kVanished, "its libraries have changed meanwhile"};
  }
  std::map<Tid, const ThreadSnapshot*> found;
  for (const ThreadSnapshot& thread : read->snapshot.threads) found[thread.tid] = &thread;
  for (ThreadSnapshot& thread : dump.snapshot.threads) {
    const auto other = found.find(thread.tid);
    if (!thread.late || other == found.end()) continue;
    thread = *other->second;
    ++dump.late_by_bpf;
    if (auto explained = read->of_threads.extract(thread.tid)) {
      dump.of_threads.insert(std::move(explained));
    }
  }
  return {};
}

Result<ProcessDump> dump_core(const DumpOptions& options, FileNamer& files,
                              const SymbolizerOptions& symbolizing) {
  auto core = CoreFile::open(options.core, options.core_files);
  if (!core) return std::move(core).error();
  ProcessDump dump;
  auto plan = plan_target(**core, options, dump);
  if (!plan) return std::move(plan).error();
  dump.command_line = (*core)->command_line();
  StackNamer namer;
  if (options.stacks) namer.look_at(**core);
  TableWorker tables;
  auto snapshot = snapshot_core(**core, *plan, snapshot_options(options, dump, *plan, tables));
  if (!snapshot) return std::move(snapshot).error();
  dump.without_table = tables.failures();
  dump.snapshot = *std::move(snapshot);
  dump.core = CoreOrigin{options.core, (*core)->problems(), (*core)->truncated()};
  if (options.stacks) {
    dump.stacks = namer.name(**core, dump.snapshot.threads, files, symbolizing);
  }
  return dump;
}

}  // namespace labelscope::cli
