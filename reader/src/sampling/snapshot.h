// A snapshot has all threads of a process, each read once. `labelscope dump` and the C API show it.
// Three functions make one: snapshot_process() stops each thread in turn, snapshot_core() reads a
// core file, and snapshot_by_bpf() uses a BPF iterator that stops no thread
// (bpf/snapshot/task_snapshot.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "labelscope/core_file.h"
#include "labelscope/ids.h"
#include "labelscope/label.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/result.h"
#include "labelscope/target.h"
#include "unwind/unwind.h"

namespace labelscope {

struct ThreadSnapshot {
  Tid tid{};
  Tid inside{};        // the number that gettid() returns to it (LiveProcess::number_inside)
  bool first = false;  // true if its number is the process's
  std::string name;    // bytes, at most 15; empty if it is not known (some cores)
  // as in /proc/PID/stat before the thread was touched: R, S, D, T, t, Z, ...; '?' if it is not
  // known
  char state = '?';
  int signal =
      0;  // core files: the signal that this thread would have got when the process died; else 0
  std::optional<Address> thread_pointer;
  std::optional<Registers> registers;  // those of a thread that was held, or that is in a core file
  Observation seen;                    // outcome, flags and labels
  std::optional<UnwoundStack> stack;   // if asked for
  std::chrono::nanoseconds held{0};    // how long it was stopped; 0 if it was not
  // Why this thread could not be looked at, in words (outcome LS_UNREADABLE_VANISHED or
  // ..._NO_THREAD_POINTER), or which memory of it a core file lacks; empty if there was no problem.
  std::string problem;
  bool late = false;  // true if `problem` is that it did not stop in time
  // By BPF: true if it was on a processor while it was read, and so may have been in the middle of
  // an update.
  bool ran = false;

  // Returns the state that observe() and explain_thread() take; it points to this snapshot. The
  // meanings are those of the plan.
  ThreadState state_read(const Meanings& by = {}) const {
    return {.thread_pointer = thread_pointer.value_or(0),
            .tid = inside,
            .registers = registers ? &*registers : nullptr,
            .facts = by.facts,
            .first = first,
            .name = name,
            .presets = by.presets};
  }
};

enum class SnapshotSource { kPtrace, kBpf, kCore };

struct ProcessSnapshot {
  SnapshotSource source = SnapshotSource::kPtrace;
  Pid pid{};
  std::string comm;
  ProcessPlan plan;
  std::vector<ThreadSnapshot>
      threads;               // by tid, without those that ended before they could be read
  std::size_t vanished = 0;  // threads left out because they ended meanwhile
  // The longest time for which a thread was held that stopped too late, and was not read but let
  // go.
  std::chrono::nanoseconds longest_late_stop{0};
  // True if new threads appeared faster than they could be read, so that some are left out.
  bool incomplete = false;
};

// A thread that the caller itself traces: it cannot be stopped again, because a thread has only one
// tracer.
struct HeldThread {
  Tid tid{};
  std::optional<Address> thread_pointer;  // empty if it runs, or waits where nothing stops it
  std::optional<Registers> registers;     // empty if they are not known
};

struct SnapshotOptions {
  std::optional<std::set<Tid>> only;  // the threads to read; all if it is empty
  bool stacks = false;
  // Makes the unwind table of a file; it is called on the caller's thread while no thread is held.
  // If it is empty, libelf and libdw read the target's files in this process, with its rights.
  BuildUnwindTable build_table{};
  std::optional<HeldThread> held;  // read as it is, without its stack
  // When a thread has been held for this time, the unwinding of its stack is cut.
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);
  // Some threads do not stop at once: they wait for a processor, for a disk, or for a child that
  // has their memory (vfork). The snapshot waits for so long for all of them together, after the
  // others have been read. (Before that, it waits for single ones, for as long again at most.)
  // Threads that still do not stop are `late`.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
  // This is called with each thread that was read, before it is let go. So its time adds to the
  // stop. The calls come on another thread than the caller's, one at a time. An exception reaches
  // the caller.
  std::function<void(const ThreadSnapshot& thread, const MemorySource& memory)> while_held;
  // This is for a watchdog on another thread: a different number while each thread is held, and 0
  // in between. It may be null.
  std::atomic<std::uint64_t>* current_stop = nullptr;
};

// Stops the threads of a live process one after the other, each for a time as short as possible,
// until no new ones appear. `plan` was made before, while everything ran. Fails with kPermission if
// no thread could be stopped; the error has the reason. Fails with kVanished if the process has
// ended, or has executed another program since it was opened (then open it again, and plan again).
//
// A stack ends where its unwind table is not made yet. When all threads have been read and run
// again, the tables are made, and the threads that lacked them are read once more: they are held
// twice for a short time, and not once for a long one. So while_held may come again for a thread.
//
// Memory that nothing supplies (userfaultfd, a file system that hangs) blocks a read without a
// limit, and the held thread with it. Only the end of the calling process helps. So the calling
// thread gets its signals meanwhile, except those of job control: they would stop the process while
// the thread is held.
Result<ProcessSnapshot> snapshot_process(const LiveProcess& process, ProcessPlan plan,
                                         const SnapshotOptions& options);

// Reads the threads of a core file. If a file that may be a publisher was not found (the main
// executable, or a file with a name of ABI v1), a thread without labels is LS_UNREADABLE_NO_RECIPE,
// not unlabelled; core.problems() names the files. No thread is stopped, so only two options count:
// `stacks`, and `while_held`, which is called on the caller's thread. It fails only if stacks are
// wanted and nothing can be unwound.
Result<ProcessSnapshot> snapshot_core(const CoreFile& core, ProcessPlan plan,
                                      const SnapshotOptions& options);

// Returns whether a file that may have been a publisher was not found. Then a thread without labels
// may have had some all the same: its outcome is LS_UNREADABLE_NO_RECIPE, and not LS_UNLABELLED.
bool may_miss_publisher(const CoreFile& core, const ProcessPlan& plan);

}  // namespace labelscope
