// Who listens on a TCP port: /proc/PID/net/tcp has the inode of the socket, and /proc/PID/fd shows
// who has it open, as the workers of a server have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cli/process/proc_listing.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

class Listeners {
 public:
  explicit Listeners(const ProcListing& processes) : processes_(processes) {}

  // Returns whether something listens on the port, in any network namespace.
  bool is_open(std::uint16_t port) { return !sockets(port).empty(); }
  // Returns whether the process has a socket open that listens on the port.
  bool are_held_by(Pid pid, std::uint16_t port);
  // Returns ports with listeners, those nearest to this one, in their order.
  std::vector<int> nearest(std::uint16_t port, std::size_t most);
  // Returns the number of processes that were asked for, and whose open files may not be read.
  std::size_t unseen() const { return unseen_; }

 private:
  using Inodes = std::set<std::uint64_t>;

  const Inodes& sockets(std::uint16_t port);
  void read();

  const ProcListing& processes_;
  std::optional<std::map<std::uint16_t, Inodes>> all_;  // read once
  std::size_t unseen_ = 0;
};

}  // namespace labelscope::cli
