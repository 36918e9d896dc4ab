// Unwind tables of foreign files, built in a worker of their own: the one that finds names may be
// busy, and stacks cannot wait for it.
//
//   unwinder                          worker
//     a descriptor ---------------->  build_unwind_table(): libelf, libdw
//       <---------------------------  rows, rules, pages (table_messages.h)
//
// BPF recordings ask from TableBuilder's thread, ptrace recordings and dumps from their own.
//
// A table that an earlier recording has kept needs no worker (table_cache.h).
//
// A file that kills the worker, or takes too long, has no table: stacks end in its code
// ("no-table"), and labelscope reports that. The next file has another worker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/unwind/table_cache.h"
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
  // Added to the time that the file may take (UnwindTableLimits): a busy machine needs it to start
  // the worker.
  static constexpr std::chrono::seconds kPatience{40};

  explicit TableWorker(Launcher launch = launch_own_worker,
                       Worker::Clock::duration patience = kPatience)
      : worker_(std::move(launch), [this] { return stopped_ || (is_unwanted_ && is_unwanted_()); }),
        patience_(patience) {}

  // If build() runs on the main thread, Ctrl-C is not handled meanwhile. So while it waits it calls
  // this, which returns true when no more tables are needed. Call it before the first build().
  void set_unwanted(std::function<bool()> is_unwanted) { is_unwanted_ = std::move(is_unwanted); }
  // Keeps tables there from now on. Call it before the first build().
  void keep_in(std::unique_ptr<TableCache> cache) { cache_ = std::move(cache); }
  // Returns null if no tables are kept.
  const TableCache* cache() const { return cache_.get(); }

  // Starts the worker if it will be needed, because no table is kept, and does not wait for it: it
  // takes longer to start than to make a table. Call it after keep_in().
  void begin();
  // Samplers and snapshots build tables by this (BuildUnwindTable). One thread at a time may call
  // it, always the same one: the worker ends with the thread that has started it.
  Result<UnwindTable> build(UniqueFd file);
  // Any thread may call it: no more tables are needed. The worker is killed when it returns, and
  // may take a moment to end. A build that waits for its file for ever is not waited for.
  void stop();

  // failures() may be called on any thread.
  struct Failures {
    std::vector<std::string> files;  // "/path: why"; the first ones
    std::size_t more = 0;
  };
  Failures failures() const;

 private:
  Result<UnwindTable> ask_worker(UniqueFd file, const UniqueFd& same);
  void note_failure(const std::string& path, const std::string& why);

  std::atomic<bool> stopped_ = false;
  std::function<bool()> is_unwanted_;
  std::timed_mutex use_;  // guards worker_
  Worker worker_;
  Worker::Clock::duration patience_;
  std::unique_ptr<TableCache> cache_;
  // Whether the worker of this generation has read a file that may control it.
  bool may_be_controlled_ = false;
  unsigned generation_ = 0;
  mutable std::mutex mutex_;  // guards failures_
  Failures failures_;
};

}  // namespace labelscope::cli
