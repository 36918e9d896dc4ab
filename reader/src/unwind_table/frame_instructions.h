// The instructions of call frame information, before libdw is given them. Entries are copies, so what
// libdw must not see is overwritten.
//
// Bounds: for a register of number N, libdw allocates a state of N values, and another one at every
// DW_CFA_remember_state. Six bytes make it touch two gigabytes. Where an instruction names a register
// that no processor has, or remembers too much, it becomes one that libdw refuses: then there is no
// way on from this function, and from this one alone.
//
// Signed return addresses (aarch64, pointer authentication): code that is built with branch
// protection puts a signature into the upper bits of its return address before it saves it, and
// says so in its call frame information. An unwinder must take the signature off. libdw cannot
// before elfutils 0.189: it reads what says so (DW_CFA_AARCH64_negate_ra_state) as SPARC's
// instruction of the same number, and loses all registers. So it is not shown any, and the step of the
// unwinder takes signatures off all return addresses (unwind/unwind_step.h, code_mask).
//
// Source: DWARF 5 section 6.4; DWARF for the Arm 64-bit Architecture (AADWARF64), "Call frame
// instructions".
#pragma once

#include <cstddef>
#include <span>

#include "labelscope/elf_types.h"
#include "unwind_table/call_frame_check.h"

namespace labelscope {

// For entries that were taken (call_frame_check.h). A common entry that cannot be parsed is
// overwritten as well: no function of it can be unwound.
void limit_instructions(std::span<std::byte> entries, CallFrameKind kind, Machine machine);

}  // namespace labelscope
