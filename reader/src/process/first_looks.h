// FirstLooks reads the mappings of the processes that a recording begins with, in a thread, while
// the BPF programs load. A process may have 60,000 mappings, and its list then takes as long as the
// rest of the way to the first sample.
//
//   the sampler reports code that is mapped from now on     (or a later mapping would be missed)
//   begin()     a thread reads /proc/PID/maps         the verifier works
//   settle()    <-- waits for it
//   forget(pid) of each process that has mapped something since
//   of(pid)     the look, if the process runs the same program still
//   forget()    sampling has begun: from now on everybody looks for himself
//
// The thread reads what the kernel says of the processes, and nothing of their memory or files.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/target.h"
#include "process/one_look.h"

namespace labelscope {

// All functions but the thread's are for one thread.
class FirstLooks {
 public:
  // So many processes are looked at, which is all of most servers, until their mappings together
  // take this memory. The others have no look: whoever needs their mappings reads them.
  struct Bounds {
    std::size_t processes = 64;
    std::size_t bytes = std::size_t{32} << 20;
  };
  explicit FirstLooks(std::vector<Pid> pids) : FirstLooks(std::move(pids), Bounds()) {}
  FirstLooks(std::vector<Pid> pids, Bounds bounds) : pids_(std::move(pids)), bounds_(bounds) {}
  ~FirstLooks() { settle(); }
  FirstLooks(const FirstLooks&) = delete;
  FirstLooks& operator=(const FirstLooks&) = delete;

  // Call it again to look again. If there can be no thread, it reads at once.
  void begin();
  // When this returns, the thread has ended.
  void settle();
  // Returns null if there is no look at this process, or if it runs another program by now. A look
  // lives until forget(). Call it after settle().
  const OneLook* of(Pid pid) const;
  // Forgets one of them: the process has changed its mappings.
  void forget(Pid pid) { looks_.erase(pid); }
  void forget() { looks_.clear(); }

 private:
  struct Look {
    explicit Look(std::unique_ptr<LiveProcess> opened)
        : process(std::move(opened)), look(*process) {}
    std::unique_ptr<LiveProcess> process;
    OneLook look;
  };
  void read();

  std::vector<Pid> pids_;
  Bounds bounds_;
  std::map<Pid, Look> looks_;
  std::thread thread_;
};

}  // namespace labelscope
