// Which processes' first threads have a saved thread pointer that is true, where that is a question
// (labelscope/saved_pointer.h), and when to ask again for those that have not.
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

  // Whether it is known of the program with this number, counted by whoever calls. Asks, unless
  // that has been answered late enough after the first time.
  bool ask(Pid pid, std::uint32_t image);
  // It was asked about this program.
  bool has_asked(Pid pid, std::uint32_t image) const;
  // Those that it is time to ask for again, and their programs.
  std::vector<std::pair<Pid, std::uint32_t>> due() const;
  void forget(Pid pid) { threads_.erase(pid); }

  // Processes whose first thread may not be stopped.
  std::uint64_t refused() const;

 private:
  struct Thread {
    std::uint32_t image = 0;
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
