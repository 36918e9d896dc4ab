// What other accounts say about the waits of a recording. The kernel's programs add up waits by
// label set; the time of the same threads is known otherwise, too, so these can contradict each
// other:
//
//   totals and open waits   what the rows of the profile have
//   thread ledgers          the programs' own sum for each thread, without labels (thread_ledger.h)
//   the clock               a thread that does not run waits: the rest is the ledger's residue
//   schedstat               the kernel's count of the time that a thread waited for a processor
//
// It is as with CPU time (process_clocks.h): schedstat is read before and after the recording
// begins, and before and after it ends, so what it has counted lies between two bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/ids.h"
#include "process/cpu_times.h"

namespace labelscope::cli {

// How long threads have waited for a processor by schedstat. Reading it takes some microseconds for
// each thread, so of very many not all are asked.
class QueueClocks {
 public:
  static constexpr std::size_t kMostThreads = 1024;
  using Read = std::function<std::vector<ThreadTime>(Pid)>;
  static std::vector<ThreadTime> read(Pid pid);

  explicit QueueClocks(Read read = QueueClocks::read) : read_(std::move(read)) {}

  // Call these before and after the sampler begins to count, for each process.
  void expect(Pid pid);
  void begin();
  // Call these before and after it ceases.
  void expect_stop();
  void stop();

  struct Bounds {
    std::uint64_t least_ns = 0;
    std::uint64_t most_ns = 0;
  };
  // After stop(): of each thread that was there from the beginning to the end.
  using Thread = std::pair<std::int32_t, std::int32_t>;  // process, thread
  const std::map<Thread, Bounds>& bounds() const { return bounds_; }

 private:
  struct Readings {
    std::uint64_t before_start = 0;
    std::uint64_t after_start = 0;
    std::uint64_t before_stop = 0;
    unsigned taken = 0;
  };
  void read_all(std::uint64_t Readings::*place);

  Read read_;
  std::map<std::int32_t, std::map<std::int32_t, Readings>> threads_;  // by process
  std::size_t count_ = 0;
  std::map<Thread, Bounds> bounds_;
};

// Sets TimeLedger::waits_twice_ns and waits_missing_ns: the largest differences, as far as ticks
// and switches do not explain them. `stolen_ns` is for how long a virtual machine did not have its
// processors meanwhile, which no account has.
void note_wait_differences(Profile& profile, const QueueClocks& clocks, std::uint64_t stolen_ns);

}  // namespace labelscope::cli
