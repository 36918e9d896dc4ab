// Frames that call frame information does not lead out of, and the registers one frame further.
#pragma once

#include <optional>

#include "labelscope/registers.h"
#include "process/cached_memory.h"

namespace labelscope {

// Whether the code at `pc` returns from a signal handler: where the handler returns to. libcs and
// the kernel's vDSO do not always describe it (musl never does, the vDSO of aarch64 on purpose not,
// so that unwinders look at the code).
bool is_signal_return(Machine machine, Address pc, CachedMemory& memory);

// The registers of what the signal interrupted, from what the kernel has put onto the stack. `stack
// pointer`: as it is when the handler has returned.
std::optional<Registers> interrupted_registers(Machine machine, Address stack_pointer,
                                               CachedMemory& memory);

// The registers of the caller, when a call has led to where there is no code: nothing has been
// pushed yet but the return address. `pc` is within the call, one byte before the return address.
std::optional<Registers> registers_before_call(const Registers& called, CachedMemory& memory);

// Which of Registers::dwarf it is (psABI figure 3.36, AADWARF64 section 4.1).
constexpr unsigned stack_pointer_number(Machine machine) {
  return machine == Machine::kX86_64 ? 7 : 31;
}
constexpr unsigned frame_pointer_number(Machine machine) {
  return machine == Machine::kX86_64 ? 6 : 29;
}
constexpr unsigned return_address_number(Machine machine) {
  return machine == Machine::kX86_64 ? 16 : 30;
}
constexpr unsigned register_count(Machine machine) { return machine == Machine::kX86_64 ? 17 : 32; }

}  // namespace labelscope
