// This finds out what code of aarch64 without call frame information has done with its frame, at
// each instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labelscope {

enum class FrameState : std::uint8_t {
  kNotReached,    // no start leads to it: data, padding, or an unknown function
  kNothingDone,   // sp, x29 and x30 are as at the call
  kReturning,     // it is the return: x30 leads to the caller, and sp is as at the call
  kFramePointer,  // x29 points to the function's own frame record
  kSettingFrame,  // it is mov x29, sp: the frame record is complete and lies at sp
  kUnknown,
};

// Returns a state for each word. `starts` are indexes of words at which functions start; targets of
// calls from there count as well. Returns nothing if jumps through registers hide where this code
// goes on.
std::vector<FrameState> frame_states(std::span<const std::uint32_t> code,
                                     std::span<const std::size_t> starts);

}  // namespace labelscope
