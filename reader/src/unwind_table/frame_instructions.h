// This limits the instructions of call frame information before libdw gets them. Entries are
// copies, so what libdw must not get is overwritten.
//
// Bounds. For a register of number N, libdw allocates a state of N values, and another one at every
// DW_CFA_remember_state. Six bytes make it touch two gigabytes. An instruction that names a
// register that no processor has, or remembers too much, is replaced by one that libdw refuses.
// Then stacks end in this function, and in this one alone.
//
// Signed return addresses (aarch64, pointer authentication): code that is built with branch
// protection puts a signature into the upper bits of its return address before it saves it, and
// marks that in its call frame information. An unwinder must remove the signature. libdw cannot do
// that before elfutils 0.189: it reads the mark (DW_CFA_AARCH64_negate_ra_state) as SPARC's
// instruction of the same number, and loses all registers. So it does not get any, and the step of
// the unwinder removes signatures from all return addresses (unwind/unwind_step.h, code_mask).
//
// Source: DWARF 5 section 6.4; DWARF for the Arm 64-bit Architecture (AADWARF64), "Call frame
// instructions".
#pragma once

#include <cstddef>
#include <span>

#include "labelscope/elf_types.h"
#include "unwind_table/call_frame_check.h"

namespace labelscope {

// Call this with entries that were taken (call_frame_check.h). A common entry that cannot be parsed
// is overwritten as well: then no function of it can be unwound.
void limit_instructions(std::span<std::byte> entries, CallFrameKind kind, Machine machine);

}  // namespace labelscope
