// MappingReports hands out what the kernel reports of mappings, from before the first look at a
// process until the end of the recording:
//
//   MappingEvents::open()  reports begin
//   FirstLooks             processes are looked at, while the programs load
//   take_early()           a process that has mapped something since has no first look any more
//   ...                    processes are set, and planned
//   take_early()           the same; tables look again at it before sampling begins
//   take()                 the tables and the handler learn of each mapping
//
// The kernel writes samples into one ring and mappings into others. A sample is looked up in what
// its process had mapped then, so mappings must come between the same samples as they were made:
//
//   samples     s1       s2    s3                 one batch of the ring buffer
//   mappings          m1            m2            m1 belongs behind s1, before s2
//
// take_until() hands out m1 before s2. It looks in the rings again if s2 is later than the last
// look.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "bpf/sampling/mapping_events.h"
#include "bpf/sampling/perf_ring.h"
#include "bpf/sampling/process_table.h"
#include "bpf/sampling/wakeup_budget.h"
#include "bpf/unwind/stack_tables.h"
#include "labelscope/result.h"
#include "process/first_looks.h"
#include "sampling/sampler.h"

namespace labelscope {

class MappingReports {
 public:
  // All of these must live as long as this object.
  MappingReports(MappingEvents& events, FirstLooks& looks, const ProcessTable& processes,
                 StackTables& tables)
      : events_(events), looks_(looks), processes_(processes), tables_(tables) {}
  MappingReports(const MappingReports&) = delete;
  MappingReports& operator=(const MappingReports&) = delete;

  // Call it before sampling begins. Returns whether tables have looked at some process again.
  bool take_early();
  // Hands out what was mapped until then. Call it before a sample, or an exec, of this time.
  void take_until(std::uint64_t time_ns, EventHandler& handler);
  // Hands out what was mapped until then, which is when the ring of samples was read last; 0 if
  // some of these have not been read. Call it often. The first call also hands out what came early.
  void take(std::uint64_t until_ns, EventHandler& handler);

  // Adds the reports to what is waited for there (epoll_wait()).
  Status add_to(int epoll);
  // Call it before each wait, which then may last so long. The next report ends it: a stack that
  // leads into new code ends there until it is known. But only so many may do so, and until another
  // one may, the time is short.
  Result<std::chrono::milliseconds> let_wake();
  // Call it for each descriptor that has ended a wait.
  void on_ready(int fd);
  // A process of the recording has begun another program, which loads its libraries now.
  void on_exec() { budget_.fill(WakeupBudget::Clock::now()); }

  void add_counts(Counts& counts) const;

 private:
  struct Report {
    MappingEvent event;
    std::string path;
  };
  void look(EventHandler& handler);
  void hand_out(Report& report, EventHandler& handler);

  MappingEvents& events_;
  FirstLooks& looks_;
  const ProcessTable& processes_;
  StackTables& tables_;
  PerfRing::Handler handler_;
  std::vector<Report> early_;    // the tables know it, and the handler does not
  std::deque<Report> coming_;    // by time
  std::uint64_t looked_ns_ = 0;  // what was mapped before then has been taken out of the rings
  bool concerns_us_ = false;     // what has come since the last take()
  bool concerns_others_ = false;
  int epoll_ = -1;
  WakeupBudget budget_;
  bool wakes_ = false;
  bool woken_ = false;  // a report has ended the last wait
};

}  // namespace labelscope
