// The mappings of the processes to record, read in a thread while the BPF programs load.
//
//   begin(pids)           a thread reads /proc/PID/maps ---.
//   open_sampler()        the verifier works               |
//   settle()              <--------------------------------'
//   rights are given up, and planning takes the lists
//
// labelscope still has all its rights then. So nothing is read but texts that the kernel makes: no
// memory and no file of a process. What a process maps until sampling begins is found by planning
// it once more, soon after that (TrackedProcess::refresh).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope::cli {

class EarlyMappings {
 public:
  // Of many processes, only the first ones are read.
  static constexpr std::size_t kMostProcesses = 8;

  EarlyMappings() = default;
  ~EarlyMappings() { settle(); }
  EarlyMappings(const EarlyMappings&) = delete;
  EarlyMappings& operator=(const EarlyMappings&) = delete;

  // Starts the thread.
  void begin(const std::vector<Pid>& pids);
  // Waits for the process that is being read, and leaves out further ones. The thread is gone then.
  void settle();
  // Returns the list of the process as the kernel had it (listed_mappings()), if there is one and
  // the process still runs the same program. Call it after settle(), once for a process.
  std::optional<std::vector<Mapping>> take(const LiveProcess& process);

 private:
  struct Seen {
    std::string program;  // LiveProcess::program()
    std::vector<Mapping> mappings;
  };
  void read(const std::vector<Pid>& pids);

  std::map<Pid, Seen> seen_;
  std::atomic<bool> enough_{false};
  std::atomic<pid_t> tid_{0};
  std::thread thread_;
};

}  // namespace labelscope::cli
