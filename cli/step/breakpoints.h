// Breakpoint instructions in the code of one address space, and the code that they replace. Several
// users may want a breakpoint at one address: each calls add() and later remove(), and the
// instruction stays until the last one has removed it. No threads are stopped: running threads may
// reach the breakpoint at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class Breakpoints {
 public:
  // Opens the memory of a traced process for reading and writing, its code included.
  static Result<Breakpoints> open(Pid pid);

  // Returns false if no code can be written there (it is gone), or if the program has a breakpoint
  // of its own there.
  bool add(Address address);
  void remove(Address address);
  bool has(Address address) const { return points_.count(address) != 0; }
  // Returns whether a breakpoint instruction is in memory there, ours or the program's own.
  bool is_trap(Address address) const;

  // Call them before and after a thread executes the replaced instruction. If the program has
  // overwritten our breakpoint, its code stays.
  void lift(Address address);
  void put_back(Address address);

  // Reads code without our breakpoints. Returns how many bytes could be read.
  std::size_t read(Address address, std::span<std::byte> out) const;
  // Removes our breakpoints from the memory of a forked process, which may be a copy of this one's.
  // If it is no copy (its parent had executed another program), this changes nothing.
  void clean(Pid copy) const;
  // Forgets the breakpoints in this range, whose memory is gone.
  void forget(Address start, Address end);

 private:
  explicit Breakpoints(UniqueFd memory) : memory_(std::move(memory)) {}
  struct Point {
    std::uint32_t original = 0;
    unsigned uses = 0;
  };
  UniqueFd memory_;
  std::map<Address, Point> points_;
};

}  // namespace labelscope::cli
