// Whether a thread that ptrace has stopped was waiting in a system call. Then it was on no
// processor, whatever its state said just before. The registers tell, on each processor in another
// way.
#pragma once

#include <cstdint>

namespace labelscope {

// x86-64. `call`: the number of the system call (orig_rax), negative outside of one. `result`: its
// result (rax). An interrupted call has a result that no program ever sees (ERESTARTSYS, ...).
bool x86_64_waited(std::int64_t call, std::int64_t result);

// aarch64. `call`: the number (x8); then the instructions before the pc and at it. Before a tracer
// can look, the kernel here forgets that there was a call; if the call is to be made again, it puts
// the pc back to the call instruction. So a thread that is just about to make the call looks the
// same, but only for the time of one instruction.
bool aarch64_waited(std::uint64_t call, std::uint32_t before_pc, std::uint32_t at_pc);

}  // namespace labelscope
