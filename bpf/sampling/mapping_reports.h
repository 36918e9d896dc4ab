// MappingReports hands out what the kernel reports of mappings, from before the first look at a
// process until the end of the recording:
//
//   PerfEvents::open()   reports begin
//   FirstLooks           processes are looked at, while the programs load
//   take_early()         a process that has mapped something since has no first look any more
//   ...                  processes are set, and planned
//   take_early()         the same; tables look again at it before sampling begins
//   take()               the tables and the handler learn of each mapping
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bpf/sampling/perf_events.h"
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
  MappingReports(PerfEvents& events, FirstLooks& looks, const ProcessTable& processes,
                 StackTables& tables)
      : events_(events), looks_(looks), processes_(processes), tables_(tables) {}
  MappingReports(const MappingReports&) = delete;
  MappingReports& operator=(const MappingReports&) = delete;

  // Call it before sampling begins. Returns whether tables have looked at some process again.
  bool take_early();
  // Call it often from then on. The first call also hands out what came early.
  void take(EventHandler& handler);

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
  struct Early {
    MappingEvent event;
    std::string path;
  };

  PerfEvents& events_;
  FirstLooks& looks_;
  const ProcessTable& processes_;
  StackTables& tables_;
  PerfRing::Handler handler_;
  std::vector<Early> early_;  // the tables know it, and the handler does not
  int epoll_ = -1;
  WakeupBudget budget_;
  bool wakes_ = false;
  bool woken_ = false;  // a report has ended the last wait
};

}  // namespace labelscope
