// How long each thread has run since sampling began: what the kernel says (since the thread was
// made), less what it had run before.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "labelscope/cpu_times.h"

namespace labelscope {

struct EndedThread {
  Pid pid{};
  Tid tid{};
  std::uint64_t ran_ns = 0;  // since sampling began
};

class ThreadClocks {
 public:
  // What the threads of this process have run so far is none of the recording's. Call it when the
  // process is to be sampled, and for all of them when sampling begins; not for children that are
  // forked later, which begin at 0.
  void begin(Pid pid);
  // `thread_ns`: by the kernel, as all below.
  std::uint64_t since_start(Pid pid, Tid tid, std::uint64_t thread_ns);
  EndedThread end(Pid pid, Tid tid, std::uint64_t thread_ns);
  // The thread that executed a program goes on under the number of the first one, which has ended.
  // Returns that thread as it was under its own number.
  EndedThread rename(Pid pid, Tid former, std::uint64_t thread_ns);
  // That of a first thread whose number another one has: its last moments are missed.
  bool was_replaced(Pid pid, Tid tid) { return raw(tid) == raw(pid) && replaced_.erase(pid) != 0; }

  // Sampling ends: each thread's time as it is now. Threads that end later end at that.
  void freeze(Pid pid);
  // All that were frozen and have not ended since.
  std::vector<EndedThread> take_frozen();

 private:
  struct Frozen {
    Pid pid{};
    std::uint64_t thread_ns = 0;
  };
  // By number, which no two threads have at a time.
  std::unordered_map<std::int32_t, std::uint64_t> before_;
  std::unordered_map<std::int32_t, Frozen> frozen_;
  std::set<Pid> untold_;  // whose threads could not be asked: they begin when they are first seen
  std::set<Pid> replaced_;
};

}  // namespace labelscope
