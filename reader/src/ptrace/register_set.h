// This puts the kernel's general registers of one thread (NT_PRSTATUS, from ptrace or from a core
// file) into DWARF order. It reads only bytes, so it decodes either machine's registers on either
// machine.
//
// Sources: the kernel's arch/x86/include/asm/user_64.h (struct user_regs_struct) and
// arch/arm64/include/uapi/asm/ptrace.h (struct user_pt_regs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "labelscope/registers.h"
#include "labelscope/result.h"

namespace labelscope {

struct RegisterSet {
  Registers registers;
  // This is fs base on x86-64. aarch64 has its thread pointer in a set of its own (NT_ARM_TLS).
  std::optional<Address> thread_pointer;
  // True if the thread was stopped within a system call in which it waited, or right after one. On
  // aarch64 the registers alone do not show that (aarch64_waited()).
  bool in_waiting_call = false;
};

// Returns the size of each machine's set; in a core file's note the set is behind the first 112
// bytes of struct elf_prstatus.
std::size_t register_set_size(Machine machine);

// Fails with kMalformed if there are fewer bytes than that.
Result<RegisterSet> decode_register_set(Machine machine, std::span<const std::byte> bytes);

// Returns whether a thread that ptrace has stopped was waiting in a system call. Then it was on no
// processor, whatever its state was just before. The registers show that, on each processor in
// another way.
//
// On x86-64, `call` is the number of the system call (orig_rax), negative outside of one, and
// `result` is its result (rax). An interrupted call has a result that no program ever sees
// (ERESTARTSYS, ...).
bool x86_64_waited(std::int64_t call, std::int64_t result);

// On aarch64, `call` is the number (x8); then come the instructions before the pc and at it. Before
// a tracer can look, the kernel here forgets that there was a call; if the call is to be made
// again, it puts the pc back to the call instruction. So a thread that is just about to make the
// call looks the same, but only for the time of one instruction.
bool aarch64_waited(std::uint64_t call, std::uint32_t before_pc, std::uint32_t at_pc);

}  // namespace labelscope
