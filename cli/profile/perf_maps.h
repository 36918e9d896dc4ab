// These are the files in which processes write the names of code that they make at run time:
// "/tmp/perf-PID.map", as perf(1) wants it. Node, Java, .NET, PHP and Erlang write one if an option
// asks for it.
//
// Every user who may write to /tmp may put a file of that name there. So it must belong to the user
// of the process, or to root, and be a regular file and no link. The process may live in a
// container: its /tmp is the one below its own root, and PID is its number there.
//
// A file is opened with the first sample in such code, so that it outlives its process. If it is
// not there yet, it is tried once more at the end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "cli/profile/profile.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

class PerfMaps {
 public:
  // Each file takes a descriptor.
  static constexpr std::size_t kMost = 256;

  // The process has a sample in code of its own making. Call it while the process lives.
  void note(Pid pid);

  struct MapFile {
    ModuleFile file;      // null: there is none
    std::string problem;  // why there is none
    // So long it was with the first sample; the maximum where that is not known.
    std::uint64_t first_bytes = UINT64_MAX;
  };
  // Call it at the end of the recording.
  MapFile find(Pid pid);
  // Forgets all other processes.
  void keep(const std::set<Pid>& pids);

 private:
  struct Maker {
    Pid inner{};  // its number in its own PID namespace
    uid_t owner{};
    bool our_root = false;  // it sees the same files as labelscope
    std::string advice;     // what makes its runtime write one
    ModuleFile file;
    std::string problem;
    std::uint64_t first_bytes = UINT64_MAX;
  };
  static void open(Pid pid, Maker& maker);

  std::map<Pid, Maker> makers_;
};

}  // namespace labelscope::cli
