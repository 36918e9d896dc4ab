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

class CallStack {
 public:
  bool empty() const { return frames_.empty(); }
  std::size_t size() const { return frames_.size(); }
  Frame& top() { return frames_.back(); }
  const Frame& top() const { return frames_.back(); }
  Frame& bottom() { return frames_.front(); }
  std::vector<Frame>& frames() { return frames_; }
  const std::vector<Frame>& frames() const { return frames_; }

  void push(Frame frame) { frames_.push_back(frame); }
  void pop() { frames_.pop_back(); }
  void clear() { frames_.clear(); }

  // Program counters, innermost first, where `pc` is that of the innermost frame.
  std::vector<Address> addresses(Address pc) const;

 private:
  std::vector<Frame> frames_;
};

}  // namespace labelscope::cli
