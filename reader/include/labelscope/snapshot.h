// All threads of a process, each read once: what `labelscope dump` shows and what the C API hands
// out. Filled by stopping each thread in turn (snapshot_process), from a core file (snapshot_core),
// or by a BPF iterator that stops nothing (../../bpf/task_snapshot.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/core_file.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/plan.h"
#include "labelscope/result.h"
#include "labelscope/target.h"
#include "labelscope/unwind.h"

namespace labelscope {

struct ThreadSnapshot {
  Tid tid{};
  std::string name;  // bytes, at most 15; empty where it is not known (some cores)
  char state = '?';  // as in /proc/PID/stat before it was touched: R, S, D, T, t, Z, ...; '?' where
                     // it is not known
  int signal =
      0;  // core files: the signal that this thread was to get when the process died; else 0
  std::optional<Address> thread_pointer;
  Observation seen;                   // outcome, flags and labels
  std::optional<UnwoundStack> stack;  // if asked for
  std::chrono::nanoseconds held{0};   // how long it was stopped; 0 if it was not
  // Why this thread could not be looked at, in words (outcome LS_UNREADABLE_VANISHED or
  // ..._NO_THREAD_POINTER), or which memory of it a core file lacks; empty if it could.
  std::string problem;
  bool late = false;  // and that is because it did not stop in time
};

enum class SnapshotSource { kPtrace, kBpf, kCore };

struct ProcessSnapshot {
  SnapshotSource source = SnapshotSource::kPtrace;
  Pid pid{};
  std::string comm;
  ProcessPlan plan;
  std::vector<ThreadSnapshot>
      threads;               // by tid; those that ended before they could be read are left out
  std::size_t vanished = 0;  // threads left out because they ended meanwhile
  // Threads that stopped too late to be read were let go at once: the longest time that took.
  std::chrono::nanoseconds longest_late_stop{0};
  // New threads appeared faster than they could be read; some are left out.
  bool incomplete = false;
};

// A thread that the caller itself traces, so that nobody else can stop it.
struct HeldThread {
  Tid tid{};
  std::optional<Address> thread_pointer;  // empty: it runs, or waits where nothing stops it
};

struct SnapshotOptions {
  bool stacks = false;
  std::optional<HeldThread> held;  // read as it stands, without its stack
  // From when a thread was stopped to where unwinding its stack is cut.
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);
  // How long all threads together that do not stop at once (they wait for a processor, a disk, or
  // for a child that has their memory) are waited for, when the others have been read, and before
  // that once more as long at most. Those that still do not stop are `late`.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
  // Called with each thread that was read, before it is let go: what it does adds to the stop. On
  // another thread than the caller's, one call at a time. What it throws reaches the caller.
  std::function<void(const ThreadSnapshot& thread, const MemorySource& memory)> while_held;
  // For whoever watches, on a further thread, that no thread is held for long: another number while
  // each one is, 0 in between. May be null.
  std::atomic<std::uint64_t>* current_stop = nullptr;
};

// Stops the threads of a live process one after the other, each as short as possible, until no new
// one appears. `plan` was made before, while everything ran. kPermission: no thread could be
// stopped, and why. kVanished: the process has ended, or has executed another program since it was
// opened (then open it again, and plan).
//
// Memory that nobody supplies (userfaultfd, a file system that hangs) keeps a reader waiting
// without limit, and the thread that is held with it; only the end of the reading process helps. So
// signals reach the calling thread meanwhile, but for those of job control, which would stop us
// with it.
Result<ProcessSnapshot> snapshot_process(const LiveProcess& process, ProcessPlan plan,
                                         const SnapshotOptions& options);

// The threads of a core file. Where a file that may be a publisher was not found (the main
// executable, or one with a name that ABI v1 gives), a thread without labels is
// LS_UNREADABLE_NO_RECIPE, not unlabelled: core.problems() names the files. Nothing is stopped and
// nothing has to be quick, so of the options only `stacks` and `while_held` count, the latter on
// the caller's thread. Fails only where a stack was asked for and nothing can be unwound.
Result<ProcessSnapshot> snapshot_core(const CoreFile& core, ProcessPlan plan,
                                      const SnapshotOptions& options);

}  // namespace labelscope
