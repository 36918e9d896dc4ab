// Finds threads of labelscope that wait in one system call for what may never come: a page or a
// byte that another program has to supply (FUSE, NFS, userfaultfd). Nothing in labelscope can end
// such a call. But its own /proc shows the call, its arguments, and that the thread uses no
// processor meanwhile:
//
//   /proc/self/task/TID/syscall     17 0x9 0x7f.. 0x40 ... SP PC    (pread64 of descriptor 9)
//   /proc/self/task/TID/schedstat   time on a processor: the same as at the look before
//
// Calls in which labelscope waits on purpose (for events, for a child, for the reader of its
// output) are none of these.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace labelscope::cli {

// A thread that waits.
struct StuckCall {
  pid_t tid = 0;
  std::chrono::nanoseconds waited{0};
  // What it waits for: "reading /proc/42/map_files/7f..-7f.." or "reading memory of process 42".
  std::string what;
  // The instruction behind the call.
  std::uint64_t returns_to = 0;
  std::string text;  // the call as /proc shows it

  // Returns whether the thread waits in this very call still.
  bool is_going_on() const;
};

// Ends labelscope at once with this status, although files are open that do not answer. Closing
// such a file waits, too (FUSE is asked to flush it), and nothing interrupts that: whoever waits
// for labelscope would wait with it. So another process gets a share in its descriptors, and the
// kernel closes them when that one ends, for which nobody waits.
[[noreturn]] void end_process(int status);

class StuckThreads {
 public:
  // A call that returns sooner is slow, and not stuck.
  explicit StuckThreads(std::chrono::nanoseconds longest) : longest_(longest) {}

  // Returns whether a file is open on a file system that may let its closing wait (FUSE, those of a
  // network), or on one that another mount namespace has, of which this is not known. It asks no
  // file system.
  static bool may_wait_at_end();

  // Looks at each thread. `passed` is the time since the last look that counts. Returns those that
  // have waited for too long: each once, and again whenever it has waited for as long once more.
  std::vector<StuckCall> look(std::chrono::nanoseconds passed);

 private:
  struct Seen {
    std::string call;  // what /proc shows of it
    std::chrono::nanoseconds waited{0};
    int returned = 0;  // how often look() has returned it
  };

  std::chrono::nanoseconds longest_;
  std::map<pid_t, Seen> seen_;
};

}  // namespace labelscope::cli
