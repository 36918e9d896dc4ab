// Holds on to processes that were looked up, by pidfds. A number may go to another process as soon
// as the one that was found has ended and was waited for:
//
//   look-up        "nginx" is 4711 | pin .......................... is_still(4711)?
//   process 4711   nginx ............ ends |  another program ......
//
// What was done with the number before is_still() returned true was done with the process that was
// pinned.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "labelscope/ids.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class PinnedProcesses {
 public:
  // Returns false if there is no such process. What was looked up before must be looked at again
  // after this.
  bool pin(Pid pid) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, raw(pid), 0)));
    // Without a descriptor (EMFILE, seccomp) the process is only known by its number.
    if (!fd.valid()) return errno != ESRCH;
    pins_[pid] = std::move(fd);
    return true;
  }
  // Returns whether the process that was pinned under this number has not ended. One that was never
  // pinned counts as if it were there.
  bool is_still(Pid pid) const {
    const auto found = pins_.find(pid);
    if (found == pins_.end()) return true;
    pollfd ended{found->second.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 0;
  }
  void unpin(Pid pid) { pins_.erase(pid); }
  void clear() { pins_.clear(); }

 private:
  std::map<Pid, UniqueFd> pins_;
};

}  // namespace labelscope::cli
