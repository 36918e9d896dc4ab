// Which program a process runs, so that an exec is noticed: the kernel gives each new one 16 random
// bytes (AT_RANDOM), which its forks inherit.
#pragma once

#include <array>
#include <cstddef>

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/target.h"

namespace labelscope {

class RunningProgram {
 public:
  // kVanished: it has ended, is in the middle of an exec, or is a thread of the kernel. kPermission.
  // kUnsupported: a program of 32 bits.
  static Result<RunningProgram> of(const LiveProcess& process);
  // Whether it is still that one: a single read. False, too, for a process that has ended.
  bool runs_in(const MemorySource& memory) const;
  friend bool operator==(const RunningProgram&, const RunningProgram&) = default;

 private:
  Address address_ = 0;
  std::array<std::byte, 16> random_{};
};

}  // namespace labelscope
