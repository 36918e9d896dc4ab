// Signed return addresses (aarch64, pointer authentication): code that is built with branch
// protection puts a signature into the upper bits of its return address before it saves it, and
// says so in its call frame information. An unwinder must take the signature off.
//
// libdw cannot before elfutils 0.189: it reads what says so (DW_CFA_AARCH64_negate_ra_state) as
// SPARC's instruction of the same number, and loses all registers. So it is not shown any, and the
// unwinder takes signatures off whatever leads to code then (UnwindModules::unsigned_code).
//
// Source: DWARF for the Arm 64-bit Architecture (AADWARF64), "Call frame instructions".
#pragma once

#include <cstddef>
#include <span>

#include "unwind/call_frame_check.h"

namespace labelscope {

// In entries that were taken (call_frame_check.h): puts DW_CFA_nop in the place of instructions
// that say that the return address is signed. What cannot be parsed stays as it is.
void hide_signed_returns(std::span<std::byte> entries, CallFrameKind kind);

}  // namespace labelscope
