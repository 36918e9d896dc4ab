// What is known of the frame of a function of x86-64 at one place in its code, and what an
// instruction makes of it. x86_frames.cc has the drawing, and follows whole functions.
#pragma once

#include <cstdint>

#include "unwind_table/unwind_rules.h"
#include "unwind_table/x86_instruction.h"

namespace labelscope::x86 {

inline constexpr std::int32_t kUnknown = INT32_MIN;

// Distances count from the CFA down.
struct Frame {
  std::int32_t depth = 8;             // distance to rsp
  std::int32_t frame = kUnknown;      // distance to where rbp points
  std::int32_t saved = 0;             // distance to where the caller's rbp is saved; 0: it is not
  bool same = true;                   // true if rbp is the caller's
  std::uint8_t copy = kNoRegister;    // this register points into the frame, too
  std::int32_t copied = kUnknown;     // distance to where it points
  std::uint8_t popped = kNoRegister;  // this register has the return address
  bool likely = false;                // true if the start of the function is not known

  bool operator==(const Frame&) const = default;
};

// Returns what both have in common, for a place to which two ways lead.
Frame join(const Frame& left, const Frame& right);
// Returns the frame behind an instruction.
Frame behind(const Instruction& done, Frame frame);
// Returns the way from such a frame to its caller.
ls_unwind_rule rule_of(const Frame& frame);

}  // namespace labelscope::x86
