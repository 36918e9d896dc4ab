// Whether a thread that ptrace has stopped was waiting in a system call: it was on no processor,
// whatever its state said just before. From its registers, each processor in its own way.
#pragma once

#include <cstdint>

namespace labelscope {

// x86-64: the number of the call, negative outside of one (orig_rax), and its result (rax). An
// interrupted call has a result that no program sees.
bool x86_64_waited(std::int64_t call, std::int64_t result);

// aarch64: the number (x8), and the instructions before and at the pc. There the kernel forgets
// that there was a call, and puts the pc back to it if it is to be made again, before a tracer
// looks. (A thread that was about to make a call is taken for one that waits: one instruction's
// time.)
bool aarch64_waited(std::uint64_t call, std::uint32_t before_pc, std::uint32_t at_pc);

}  // namespace labelscope
