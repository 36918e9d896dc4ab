// The calls that a stepped thread is in, kept by watching its call and return instructions: exact
// also where no frame pointer and no unwind table would tell.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/step/tracee.h"

namespace labelscope::cli {

struct Frame {
  std::uint64_t id = 0;     // of this activation; never used again
  Address entry = 0;        // the first instruction that was seen in it
  Address called_from = 0;  // an address in the instruction that called it; 0: not known
  CallSite call;
  bool open_ended = false;            // where it returns to is not known: it ends with its return
  bool free = false;                  // runs without being stepped until it returns
  bool publisher = false;             // of a library that publishes
  bool returns_region = false;        // the declared update ends when it returns
  std::uint64_t begun_at_change = 0;  // changes seen by the thread before it
  std::uint64_t begun_at_step = 0;
  std::uint64_t program_steps = 0;  // own instructions in the program's own code
};

// A jump to a lower address in the function of a frame: a loop, perhaps.
struct JumpBack {
  std::uint64_t frame = 0;
  Address from = 0;
};

using CallStack = std::vector<Frame>;  // the outermost first

}  // namespace labelscope::cli
