// On aarch64 the kernel's saved thread pointer of a process's first thread may be wrong
// (labelscope/saved_pointer.h). This class remembers for which processes it is known to be right,
// and when to ask again for the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "labelscope/ids.h"

namespace labelscope {

class FirstThreads {
 public:
  using Clock = std::chrono::steady_clock;

  // Returns whether the saved pointer is known to be right for this life of the process (wire.h).
  // The thread is stopped to find out, unless the answer is known for good.
  bool ask(Pid pid, std::uint32_t life);
  // Returns whether ask() was called for this program.
  bool has_asked(Pid pid, std::uint32_t life) const;
  // Returns the processes and programs for which it is time to ask again.
  std::vector<std::pair<Pid, std::uint32_t>> due() const;
  void forget(Pid pid) { threads_.erase(pid); }

  // Returns the number of processes whose first thread the kernel does not let labelscope stop.
  std::uint64_t refused() const;

 private:
  struct Thread {
    std::uint32_t life = 0;
    Clock::time_point first_asked;
    Clock::time_point ask_next;
    std::chrono::milliseconds delay{};
    bool known = false;
    bool for_good = false;
    bool refused = false;
  };
  std::map<Pid, Thread> threads_;
};

}  // namespace labelscope
