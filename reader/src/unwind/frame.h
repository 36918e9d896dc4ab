// A frame of a stack, as its word (stack.h) says.
#pragma once

#include <cstdint>

#include "unwind/stack.h"

namespace labelscope {

// Whether the value of such a frame is an address of code.
constexpr bool is_code(ls_frame_kind kind) { return kind != LS_FRAME_SCRIPT; }

struct Frame {
  ls_frame_kind kind = LS_FRAME_CODE;
  std::uint64_t value = 0;

  std::uint64_t word() const {
    return static_cast<std::uint64_t>(kind) << LS_FRAME_KIND_SHIFT | value;
  }
};

// A word whose kind is unknown is an address, and wrong.
inline Frame frame_of(std::uint64_t word) {
  const std::uint64_t kind = word >> LS_FRAME_KIND_SHIFT;
  if (kind >= LS_FRAME_KIND_COUNT) return {LS_FRAME_CODE, word};
  return {static_cast<ls_frame_kind>(kind), word & LS_FRAME_VALUE};
}

}  // namespace labelscope
