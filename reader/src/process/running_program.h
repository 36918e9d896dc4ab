// This identifies the program that a process runs, so that an exec is noticed: the kernel gives
// each new program 16 random bytes (AT_RANDOM), which its forks inherit.
#pragma once

#include <array>
#include <cstddef>

#include "labelscope/ids.h"
#include "labelscope/memory.h"
#include "labelscope/target.h"

namespace labelscope {

class RunningProgram {
 public:
  // Fails with kVanished if the process has ended, is in the middle of an exec, or is a thread of
  // the kernel; with kPermission; and with kUnsupported for a program of 32 bits.
  static Result<RunningProgram> of(const LiveProcess& process);
  // Returns whether the process still runs that program, with a single read. Returns false, too,
  // for a process that has ended.
  bool runs_in(const MemorySource& memory) const;
  friend bool operator==(const RunningProgram&, const RunningProgram&) = default;

 private:
  Address address_ = 0;
  std::array<std::byte, 16> random_{};
};

}  // namespace labelscope
