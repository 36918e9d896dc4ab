// ThreadClocks computes how long each thread has run since sampling began: the CPU time that the
// kernel has counted since the thread's creation, minus what it had counted when sampling began.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "process/cpu_times.h"

namespace labelscope {

struct EndedThread {
  Pid pid{};
  Tid tid{};
  std::uint64_t ran_ns = 0;  // since sampling began
};

class ThreadClocks {
 public:
  // Leaves the CPU time of this process's threads up to now out of the recording. Call this when
  // sampling of the process begins. Do not call it for children that it forks later: they begin at
  // 0.
  void begin(Pid pid);
  void begin(std::span<const ThreadTime> times);
  // Here and below, `thread_ns` is what the kernel has counted since the thread's creation.
  std::uint64_t since_start(Pid pid, Tid tid, std::uint64_t thread_ns);
  EndedThread end(Pid pid, Tid tid, std::uint64_t thread_ns);
  // Call this after an exec by another thread than the first: that thread goes on under the first
  // thread's number, and the first has ended. Returns the account of that thread under its former
  // number.
  EndedThread rename(Pid pid, Tid former, std::uint64_t thread_ns);
  // Returns whether a record of an ended thread is about a first thread whose number another thread
  // has taken by such an exec. The time of its last moments is lost.
  bool was_replaced(Pid pid, Tid tid) { return raw(tid) == raw(pid) && replaced_.erase(pid) != 0; }

  // Notes each thread's time as it is now. Call this when sampling ends. For a thread that ends
  // later, this time counts.
  void freeze(Pid pid);
  void freeze(Pid pid, std::span<const ThreadTime> times);
  // Takes all threads that were frozen and have not ended since.
  std::vector<EndedThread> take_frozen();

 private:
  struct Frozen {
    Pid pid{};
    std::uint64_t thread_ns = 0;
  };
  // The time that is left out, by thread number.
  std::unordered_map<std::int32_t, std::uint64_t> before_;
  std::unordered_map<std::int32_t, Frozen> frozen_;
  // Processes for whose threads the kernel did not give the time. They begin when first seen.
  std::set<Pid> without_times_;
  std::set<Pid> replaced_;
};

}  // namespace labelscope
