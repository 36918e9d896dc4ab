// What the kernel's clocks of whole processes say about the time of a recording. The time that is
// shared out among samples comes from the clocks of threads, as BPF reports them; these clocks are
// another account of the same time, so the two can contradict each other:
//
//   process clock    |--- before ---|-------------- recorded --------------|-- after --|
//   it is read at    least    most                                  least    most
//                        start()                                        stop()
//
// The recording begins between two readings and ends between two others, so all its threads
// together have run for at least (least end - most beginning) and at most (most end - least
// beginning). A process that is forked meanwhile begins at 0.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "cli/record/wait_differences.h"
#include "labelscope/ids.h"
#include "process/cpu_times.h"

namespace labelscope::cli {

// Where the readings come from.
struct KernelClocks {
  // The clock of a process; nothing once it is gone. A zombie is not gone.
  std::function<std::optional<std::uint64_t>(Pid)> process = process_time;
  // Whether no thread of the process runs any more, so that its clock stands still.
  std::function<bool(Pid)> stands_still = is_zombie;
  // How long all processors together have existed, in nanoseconds.
  std::function<std::uint64_t()> processors = read_processor_clock;

  // For how long a virtual machine did not have its processors, in nanoseconds.
  std::function<std::uint64_t()> stolen = read_stolen_clock;
  QueueClocks::Read queues = QueueClocks::read;

  // For recordings that do not count CPU time: the clocks of processes are not read.
  KernelClocks without_processes() const {
    KernelClocks clocks = *this;
    clocks.process = [](Pid) { return std::nullopt; };
    clocks.stands_still = [](Pid) { return false; };
    return clocks;
  }

  static std::uint64_t read_stolen_clock();
  static bool is_zombie(Pid pid);
  static std::uint64_t read_processor_clock();
};

class ProcessClocks {
 public:
  // The time of all that had one process number, since the recording began.
  struct Bounds {
    std::uint64_t least_ns = 0;
    std::uint64_t most_ns = 0;
    static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  };

  explicit ProcessClocks(KernelClocks clocks) : clocks_(std::move(clocks)) {}

  // A clock of all that is recorded, which also has the time of processes that nobody has seen
  // (group_clock.h). Call this before expect_start().
  using Group = std::function<std::optional<std::uint64_t>()>;
  void watch(Group group) { group_ = std::move(group); }
  // That clock has turned out to be none of the recording.
  void forget_group() {
    group_ = nullptr;
    of_group_ = {0, Bounds::kUnknown};
  }
  // Call these before and after the sampler starts.
  void expect_start();
  void start();
  // Call these before and after the sampler begins to count the process's time.
  void expect(Pid pid);
  void begin(Pid pid);
  // It was not sampled after all.
  void forget(Pid pid) { lives_.erase(pid); }
  // For a process that began at a moment that nobody knows.
  void begin_unknown(Pid pid);
  // For a process that was forked while its parent was sampled: `before_start` if the sampler
  // counts its time from a moment after the fork that nobody knows.
  void fork(Pid pid, bool before_start);
  // Call this when the process has ended: it may still be a zombie. Its number may come again.
  void end(Pid pid);
  // Call these before and after the sampler stops. A second stop() does nothing.
  void expect_stop();
  void stop();
  // The same between two windows: before and after the sampler reads the times of threads.
  void expect_cut() { read_ends(); }
  void cut();
  // What stop() or cut() has found out about the time since the last cut.
  const std::map<Pid, Bounds>& bounds() const { return bounds_; }
  // Call it when the bounds of a window have been used.
  void begin_window();
  // The same of the clock of all; from 0 to kUnknown without one.
  const Bounds& of_group() const { return of_group_; }
  // After stop(): no recording of this length has more time on processors.
  std::uint64_t most_of_all() const { return most_of_all_; }

 private:
  // A process that runs.
  struct Life {
    std::uint64_t least_before = 0;
    std::optional<std::uint64_t> most_before;  // nothing: it could not be read
    std::uint64_t least_end = 0;
  };
  void read_ends();
  // `most_end`: nothing if that is not known.
  void add(Pid pid, const Life& life, std::optional<std::uint64_t> most_end);

  KernelClocks clocks_;
  bool is_stopping_ = false;
  bool has_stopped_ = false;
  std::uint64_t started_at_ = 0;
  std::uint64_t cut_at_ = 0;  // before it
  std::uint64_t most_of_all_ = Bounds::kUnknown;
  Group group_;
  Life group_life_;
  Bounds of_group_{0, Bounds::kUnknown};
  std::map<Pid, Life> lives_;
  std::map<Pid, Bounds> bounds_;
};

}  // namespace labelscope::cli
