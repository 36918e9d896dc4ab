// What code of aarch64 that no call frame information describes has done with its frame, at each
// instruction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace labelscope {

enum class FrameState : std::uint8_t {
  kNotReached,    // no start leads to it: data, padding, or a function that nobody knows
  kNothingDone,   // sp, x29 and x30 are as at the call
  kReturning,     // the return itself: x30 leads to the caller, and sp is as at the call
  kFramePointer,  // x29 points to the function's own frame record
  kSettingFrame,  // mov x29, sp: the frame record is complete and lies at sp
  kUnknown,
};

// One for each word. `starts`: indexes of words at which functions start; where calls from there lead
// counts as well. Empty: jumps through registers hide where this code goes on.
std::vector<FrameState> frame_states(std::span<const std::uint32_t> code,
                                     std::span<const std::size_t> starts);

}  // namespace labelscope
