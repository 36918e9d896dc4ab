// ThreadClocks computes how long each thread has run since sampling began: the CPU time that the
// kernel has counted since the thread's creation, minus what it had counted when sampling began.
//
// The problem: a number does not say which thread it is. If another thread than the first executes
// a program, it takes the first thread's number, with all the time that it has run under its own.
// Its samples show that before its EXEC record does, by 50 ms in a large process, because the
// kernel tears the old memory down in between:
//
//   first thread A   number 100  |--------------| ends
//   thread B         number 101  |--------------|  number 100, time of B  |---- number 100 -----
//                                          takes the number          EXEC record
//
// So each thread has an identity, too (wire/wire.h). What comes of B under the number 100 before
// the record belongs to B, which goes on as 101 until then.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process/cpu_times.h"

namespace labelscope {

class ThreadClocks {
 public:
  // What a thread is called, and how long it has run since sampling began.
  struct Time {
    Pid pid{};
    Tid tid{};
    std::uint64_t ran_ns = 0;
  };

  // Leaves the CPU time of this process's threads up to now out of the recording. Call this when
  // sampling of the process begins. Do not call it for children that it forks later: they begin at
  // 0.
  void begin(Pid pid);
  void begin(Pid pid, std::span<const ThreadTime> times);
  // Here and below, `thread_ns` is what the kernel has counted since the thread's creation, and
  // `identity` may be 0 if it is not known.
  // Returns the time of a sample. If nothing is known of its thread but that it is not the one
  // whose number it has, its time is that of the number's last sample.
  Time at(Pid pid, Tid tid, std::uint32_t identity, std::uint64_t thread_ns);
  // Returns nothing if another thread has this number already, whose account goes on.
  std::optional<Time> end(Pid pid, Tid tid, std::uint32_t identity, std::uint64_t thread_ns);
  // Call this after each exec. `former` is the number that the thread had before, or 0 if that is
  // not known. Returns nothing if it was the first thread. Otherwise that one has ended, and the
  // thread goes on under its number: returns the thread's account under its former number.
  std::optional<Time> exec(Pid pid, Tid former, std::uint32_t identity, std::uint64_t thread_ns);
  // The same if the exec's record was lost: the next sample shows which thread it was.
  void note_unseen_exec(Pid pid);
  // A new process has this number.
  void forget_identity(Tid tid);

  // Notes each thread's time as it is now. Call this when sampling ends. For a thread that ends
  // later, this time counts.
  void freeze(Pid pid);
  void freeze(Pid pid, std::span<const ThreadTime> times);
  // Whether the time of this thread was noted: it had begun by then.
  bool is_frozen(Pid pid, Tid tid, std::uint32_t identity) const;
  // Whether another thread than the one with this identity is known by the number.
  bool is_of_other(Pid pid, Tid tid, std::uint32_t identity) const;
  // Takes all threads that were frozen and have not ended since.
  std::vector<Time> take_frozen();

 private:
  struct Clock {
    std::uint32_t identity = 0;
    bool may_change = false;  // another thread may have this number, whose time goes on from here
    std::int64_t before_ns = 0;  // what is left out
    std::uint64_t ran_ns = 0;    // what the last sample had
  };
  struct Frozen {
    Pid pid{};
    std::uint64_t thread_ns = 0;
  };
  Tid number_of(Pid pid, Tid tid, std::uint32_t identity) const;
  void set_identity(Pid pid, Tid tid, Clock& clock, std::uint32_t identity);
  std::uint64_t ran(Clock& clock, std::uint64_t thread_ns) const;

  std::unordered_map<std::int32_t, Clock> clocks_;                  // by thread number
  std::unordered_map<std::uint32_t, std::pair<Pid, Tid>> numbers_;  // by identity
  std::unordered_map<std::int32_t, Frozen> frozen_;
  // Processes for whose threads the kernel did not give the time. They begin when first seen.
  std::set<Pid> without_times_;
};

}  // namespace labelscope
