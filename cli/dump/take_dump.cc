// The order of things for a live process: open it, plan, and get everything ready while it runs;
// only then stop its threads, one at a time; explain and name what was read when it runs again.
#include "cli/dump/take_dump.h"

#include <algorithm>
#include <map>

#include "bpf/task_snapshot.h"
#include "cli/profile/address_space.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// The stacks of a dump, taken apart into modules and locations and given names.
class StackNamer {
 public:
  // What is mapped now, and its files, kept open: called before the threads are read, and after.
  // What cannot be had now only leaves addresses without names.
  void look_at(const Target& target);
  // Once, after the threads were read.
  NamedStacks name(const std::vector<ThreadSnapshot>& threads, const SymbolizerOptions& options);

 private:
  Index location_at(Profile& profile, Address address);

  ModuleTable modules_;
  AddressSpace space_{modules_};
  std::map<Address, Index> locations_;
};

void StackNamer::look_at(const Target& target) {
  [[maybe_unused]] const Status status = space_.load(target);
}

Index StackNamer::location_at(Profile& profile, Address address) {
  auto [known, fresh] =
      locations_.try_emplace(address, static_cast<Index>(profile.locations.size()));
  if (fresh) profile.locations.push_back({space_.module_at(address), address, {}});
  return known->second;
}

NamedStacks StackNamer::name(const std::vector<ThreadSnapshot>& threads,
                             const SymbolizerOptions& options) {
  NamedStacks named;
  Profile& profile = named.profile;
  for (const ThreadSnapshot& thread : threads) {
    named.of_thread.push_back(thread.stack ? static_cast<Index>(profile.stacks.size()) : kNoIndex);
    if (!thread.stack) continue;
    Stack stack{{}, thread.stack->end};
    for (Address frame : thread.stack->frames) {
      // Behind the first one they are return addresses (unwind.h): the call is in front of them.
      const Address code = stack.frames.empty() ? frame : frame - 1;
      stack.frames.push_back(location_at(profile, code));
    }
    profile.stacks.push_back(std::move(stack));
  }
  profile.modules = modules_.take_modules();
  symbolize(profile, modules_.take_files(), options);
  return named;
}

// A process may execute another program while it is looked at; not many times in a row.
constexpr int kMostAttempts = 3;

struct Planned {
  ProcessPlan plan;
  std::optional<Explanation> explanation;
};

Result<Planned> plan_target(const Target& target, bool explain) {
  PlanTrace trace;
  auto plan = Planner().plan(target, explain ? &trace : nullptr);
  if (!plan) return std::move(plan).error();
  Planned planned{*std::move(plan), std::nullopt};
  if (explain) planned.explanation = explain_plan(planned.plan, trace);
  return planned;
}

class DumpTaker {
 public:
  DumpTaker(const DumpOptions& options, const SymbolizerOptions& symbolizing)
      : options_(options), symbolizing_(symbolizing) {}

  Result<ProcessDump> by_ptrace(Pid pid);
  Result<ProcessDump> by_bpf(Pid pid);
  Result<ProcessDump> from_core();

 private:
  SnapshotOptions snapshot_options(ProcessDump& dump, const ProcessPlan& plan) const;
  void name_stacks(ProcessDump& dump, StackNamer& namer) const;

  const DumpOptions& options_;
  const SymbolizerOptions& symbolizing_;
};

// `dump` and `plan` are written to and read while threads are held.
SnapshotOptions DumpTaker::snapshot_options(ProcessDump& dump, const ProcessPlan& plan) const {
  SnapshotOptions snapshot;
  snapshot.stacks = options_.stacks;
  snapshot.max_stop = options_.max_stop;
  if (options_.explain) {
    snapshot.while_held = [&](const ThreadSnapshot& thread, const MemorySource& memory) {
      if (!thread.thread_pointer) return;
      Explanation& told = dump.of_threads[thread.tid];
      told = explain_thread(plan, *thread.thread_pointer, memory);
      // A pointer into memory that a core file lacks is no fault of the writer's.
      if (!thread.problem.empty()) told.findings.clear();
    };
  }
  return snapshot;
}

void DumpTaker::name_stacks(ProcessDump& dump, StackNamer& namer) const {
  if (options_.stacks) dump.stacks = namer.name(dump.snapshot.threads, symbolizing_);
}

Result<ProcessDump> DumpTaker::by_ptrace(Pid pid) {
  auto process = LiveProcess::open(pid);
  if (!process) return std::move(process).error();
  ProcessDump dump;
  dump.command_line = (*process)->command_line();
  auto planned = plan_target(**process, options_.explain);
  if (!planned) {
    const bool refused = planned.error().code == ErrorCode::kPermission;
    return refused ? StoppedThread::refusal((*process)->seen_through())
                   : std::move(planned).error();
  }
  dump.explanation = std::move(planned->explanation);
  StackNamer namer;
  if (options_.stacks) namer.look_at(**process);
  auto snapshot = snapshot_process(**process, planned->plan, snapshot_options(dump, planned->plan));
  if (!snapshot) return std::move(snapshot).error();
  dump.snapshot = *std::move(snapshot);
  if (options_.stacks) namer.look_at(**process);  // what was loaded meanwhile
  name_stacks(dump, namer);
  return dump;
}

Result<ProcessDump> DumpTaker::by_bpf(Pid pid) {
  auto process = BpfProcess::open(pid);
  if (!process) return std::move(process).error();
  auto planned = plan_target(**process, options_.explain);
  if (!planned) return std::move(planned).error();
  ProcessDump dump;
  if (auto live = LiveProcess::open(pid)) dump.command_line = (*live)->command_line();
  dump.explanation = std::move(planned->explanation);
  auto snapshot = snapshot_by_bpf(**process, std::move(planned->plan));
  if (!snapshot) return std::move(snapshot).error();
  dump.snapshot = *std::move(snapshot);
  if (!options_.explain) return dump;
  for (const ThreadSnapshot& thread : dump.snapshot.threads) {
    if (!thread.thread_pointer) continue;
    dump.of_threads[thread.tid] =
        explain_thread(dump.snapshot.plan, *thread.thread_pointer, (*process)->memory());
  }
  return dump;
}

Result<ProcessDump> DumpTaker::from_core() {
  auto core = CoreFile::open(options_.core, options_.core_files);
  if (!core) return std::move(core).error();
  auto planned = plan_target(**core, options_.explain);
  if (!planned) return std::move(planned).error();
  ProcessDump dump;
  dump.command_line = (*core)->command_line();
  dump.explanation = std::move(planned->explanation);
  StackNamer namer;
  if (options_.stacks) namer.look_at(**core);
  auto snapshot = snapshot_core(**core, planned->plan, snapshot_options(dump, planned->plan));
  if (!snapshot) return std::move(snapshot).error();
  dump.snapshot = *std::move(snapshot);
  dump.core = CoreOrigin{options_.core, (*core)->problems(), (*core)->truncated()};
  name_stacks(dump, namer);
  return dump;
}

// The same way again where the process has become another program meanwhile.
template <class Take>
Result<ProcessDump> with_attempts(Pid pid, Take take) {
  Result<ProcessDump> dump = take();
  for (int attempt = 1; attempt < kMostAttempts; ++attempt) {
    if (dump || dump.error().code != ErrorCode::kVanished || !LiveProcess::open(pid)) break;
    dump = take();
  }
  return dump;
}

}  // namespace

Result<ProcessDump> dump_by_ptrace(Pid pid, const DumpOptions& options,
                                   const SymbolizerOptions& symbolizing) {
  DumpTaker taker(options, symbolizing);
  return with_attempts(pid, [&] { return taker.by_ptrace(pid); });
}

Result<ProcessDump> dump_by_bpf(Pid pid, const DumpOptions& options) {
  const SymbolizerOptions no_stacks;
  DumpTaker taker(options, no_stacks);
  return with_attempts(pid, [&] { return taker.by_bpf(pid); });
}

bool waits_for_processor(const ThreadSnapshot& thread) {
  return thread.late && thread.state == 'R';
}

Status read_late_by_bpf(ProcessDump& dump, const DumpOptions& options) {
  auto read = dump_by_bpf(dump.snapshot.pid, options);
  if (!read) return std::move(read).error();
  // Labels name their publisher by its place in the plan.
  const auto& publishers = dump.snapshot.plan.publishers;
  const auto& now = read->snapshot.plan.publishers;
  if (!std::equal(publishers.begin(), publishers.end(), now.begin(), now.end(),
                  [](const Publisher& a, const Publisher& b) { return a.path == b.path; })) {
    return Error{ErrorCode::kVanished, "its libraries have changed meanwhile"};
  }
  std::map<Tid, const ThreadSnapshot*> found;
  for (const ThreadSnapshot& thread : read->snapshot.threads) found[thread.tid] = &thread;
  for (ThreadSnapshot& thread : dump.snapshot.threads) {
    const auto other = found.find(thread.tid);
    if (!waits_for_processor(thread) || other == found.end()) continue;
    thread = *other->second;
    ++dump.late_by_bpf;
    if (auto explained = read->of_threads.extract(thread.tid)) {
      dump.of_threads.insert(std::move(explained));
    }
  }
  return {};
}

Result<ProcessDump> dump_core(const DumpOptions& options, const SymbolizerOptions& symbolizing) {
  return DumpTaker(options, symbolizing).from_core();
}

}  // namespace labelscope::cli
