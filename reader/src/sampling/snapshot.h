// All threads of a process, each read once. `labelscope dump` and the C API show it. Three
// functions make one: snapshot_process() stops each thread in turn, snapshot_core() reads a core
// file, and snapshot_by_bpf() uses a BPF iterator that stops no thread (bpf/snapshot/task_snapshot.h).
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
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/result.h"
#include "labelscope/target.h"
#include "unwind/unwind.h"

namespace labelscope {

struct ThreadSnapshot {
  Tid tid{};
  Tid inside{};      // the number that it has for itself (LiveProcess::number_inside)
  std::string name;  // bytes, at most 15; empty where it is not known (some cores)
  char state = '?';  // as in /proc/PID/stat before it was touched: R, S, D, T, t, Z, ...; '?' where
                     // it is not known
  int signal =
      0;  // core files: the signal that this thread was to get when the process died; else 0
  std::optional<Address> thread_pointer;
  std::optional<Registers> registers;  // of a thread that was held, or of a core file's
  Observation seen;                    // outcome, flags and labels
  std::optional<UnwoundStack> stack;   // if asked for
  std::chrono::nanoseconds held{0};    // how long it was stopped; 0 if it was not
  // Why this thread could not be looked at, in words (outcome LS_UNREADABLE_VANISHED or
  // ..._NO_THREAD_POINTER), or which memory of it a core file lacks; empty if it could.
  std::string problem;
  bool late = false;  // `problem` is that it did not stop in time

  // What observe() and explain_thread() ask; points to this snapshot. `facts`: of the plan.
  ThreadState state_read(const ProcessFacts* facts = nullptr) const {
    return {thread_pointer.value_or(0), inside, registers ? &*registers : nullptr, facts};
  }
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
  // Threads that stopped too late were not read but let go: the longest time for which one was
  // held.
  std::chrono::nanoseconds longest_late_stop{0};
  // New threads appeared faster than they could be read; some are left out.
  bool incomplete = false;
};

// A thread that the caller itself traces: we cannot stop it, because a thread has only one tracer.
struct HeldThread {
  Tid tid{};
  std::optional<Address> thread_pointer;  // empty: it runs, or waits where nothing stops it
};

struct SnapshotOptions {
  bool stacks = false;
  // How a file becomes an unwind table, asked on the caller's thread while no thread is held. Empty:
  // libelf and libdw read the target's files in this process, with its rights.
  BuildUnwindTable build_table{};
  std::optional<HeldThread> held;  // read as it stands, without its stack
  // When a thread has been held for this time, the unwinding of its stack is cut.
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);
  // Some threads do not stop at once: they wait for a processor, for a disk, or for a child that
  // has their memory (vfork). This is how long we wait for all of them together, after the others
  // have been read. (Before that, we wait for single ones, for as long again at most.) Threads that
  // still do not stop are `late`.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
  // Called with each thread that was read, before it is let go. So its time adds to the stop. The
  // calls come on another thread than the caller's, one at a time. An exception reaches the caller.
  std::function<void(const ThreadSnapshot& thread, const MemorySource& memory)> while_held;
  // For a watchdog on another thread: a different number while each thread is held, and
  // 0 in between. May be null.
  std::atomic<std::uint64_t>* current_stop = nullptr;
};

// Stops the threads of a live process one after the other, each for a time as short as possible,
// until no new ones appear. `plan` was made before, while everything ran. kPermission: no thread
// could be stopped; the error tells why. kVanished: the process has ended, or has executed another
// program since it was opened (then open it again, and plan again).
//
// A stack ends where its unwind table is not made yet. When all threads have been read and run again,
// the tables are made, and the threads that lacked them are read once more: held twice for a short
// time, and not once for a long one. So while_held may come again for a thread.
//
// Memory that nobody supplies (userfaultfd, a file system that hangs) blocks a read without a
// limit, and the held thread with it. Only the end of our process helps. So the calling thread gets
// its signals meanwhile, except those of job control: they would stop us while the thread is held.
Result<ProcessSnapshot> snapshot_process(const LiveProcess& process, ProcessPlan plan,
                                         const SnapshotOptions& options);

// The threads of a core file. If a file that may be a publisher was not found (the main executable,
// or a file with a name of ABI v1), a thread without labels is LS_UNREADABLE_NO_RECIPE, not
// unlabelled; core.problems() names the files. No thread is stopped, so only two options count:
// `stacks`, and `while_held`, which is called on the caller's thread. Fails only if stacks are
// wanted and nothing can be unwound.
Result<ProcessSnapshot> snapshot_core(const CoreFile& core, ProcessPlan plan,
                                      const SnapshotOptions& options);

}  // namespace labelscope
