// Breakpoint instructions in the code of one address space, and what was there before. Whoever uses
// an address says so and takes it back; the instruction is there as long as somebody does. Threads
// that run see it at once: nothing here stops them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "labelscope/ids.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

class Breakpoints {
 public:
  // The memory of a process that is being traced, for reading and writing, its code too.
  static Result<Breakpoints> open(Pid pid);

  // False where no code can be written (it is gone), or a breakpoint of the program's own is.
  bool add(Address address);
  void remove(Address address);
  bool has(Address address) const { return points_.count(address) != 0; }
  // A breakpoint instruction is in memory there, ours or the program's own.
  bool is_trap(Address address) const;

  // Around the execution of the instruction itself. Code that the program has written over ours
  // stays.
  void lift(Address address);
  void put_back(Address address);

  // Code as the program has it. How many bytes could be read.
  std::size_t read(Address address, std::span<std::byte> out) const;
  // Takes all of ours out of the memory of another process that may have a copy of this one's.
  // Elsewhere (its parent had executed another program) it is left as it is.
  void clean(Pid copy) const;
  // They went with the memory that they were in.
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
