// Unwind tables of foreign files, built in a worker of their own: that for names may be busy, and
// waits for nobody's stacks.
//
//   who unwinds                       worker
//     a descriptor ---------------->  build_unwind_table(): libelf, libdw
//       <---------------------------  rows, rules, pages (table_messages.h)
//
// BPF recordings ask from TableBuilder's thread, ptrace recordings and dumps from their own.
//
// A file that kills the worker, or takes too long, has no table: stacks end in its code ("no-table"),
// and labelscope says so. The next file has another worker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/worker/worker.h"
#include "cli/worker/worker_main.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope::cli {

// The worker's task.
Answer make_table_task();

class TableWorker {
 public:
  // Beside what the file may take (UnwindTableLimits): to start, on a machine that is busy.
  static constexpr std::chrono::seconds kPatience{40};

  explicit TableWorker(Launcher launch = launch_own_worker,
                       Worker::Clock::duration patience = kPatience)
      : worker_(std::move(launch), [this] { return stopped_ || (is_unwanted_ && is_unwanted_()); }),
        patience_(patience) {}

  // Before the first table, for who asks from his main loop: whether nobody waits for them any more.
  void set_unwanted(std::function<bool()> is_unwanted) { is_unwanted_ = std::move(is_unwanted); }

  // What samplers and snapshots take as their way to build tables (BuildUnwindTable). One thread at
  // a time, the same one for as long as it lives: the worker ends with it.
  Result<UnwindTable> build(UniqueFd file);
  // From any thread: nobody waits for tables any more. The worker is killed when it returns, and may
  // need a moment more to end.
  void stop();

  // From any thread.
  struct Failures {
    std::vector<std::string> files;  // "/path: why"; the first ones
    std::size_t more = 0;
  };
  Failures failures() const;

 private:
  void note_failure(const std::string& path, const std::string& why);

  std::atomic<bool> stopped_ = false;
  std::function<bool()> is_unwanted_;
  std::mutex use_;  // of worker_
  Worker worker_;
  Worker::Clock::duration patience_;
  mutable std::mutex mutex_;  // of failures_
  Failures failures_;
};

}  // namespace labelscope::cli
