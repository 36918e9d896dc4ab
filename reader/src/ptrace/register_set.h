// The kernel's general registers of one thread (NT_PRSTATUS, from ptrace or from a core file), put
// into DWARF order. Either machine's on either machine: only bytes are looked at.
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
  // fs base on x86-64. aarch64 has its thread pointer in a set of its own (NT_ARM_TLS).
  std::optional<Address> thread_pointer;
  // It was stopped within a system call in which it waited, or had just done so. On aarch64 the
  // registers alone do not tell (aarch64_waited()).
  bool in_waiting_call = false;
};

// Bytes of the set of each machine; in a core file's note it stands behind struct elf_prstatus's
// first 112 bytes.
std::size_t register_set_size(Machine machine);

// kMalformed: fewer bytes than that.
Result<RegisterSet> decode_register_set(Machine machine, std::span<const std::byte> bytes);

// Whether a thread that ptrace has stopped was waiting in a system call. Then it was on no
// processor, whatever its state said just before. The registers tell, on each processor in another
// way.
//
// x86-64. `call`: the number of the system call (orig_rax), negative outside of one. `result`: its
// result (rax). An interrupted call has a result that no program ever sees (ERESTARTSYS, ...).
bool x86_64_waited(std::int64_t call, std::int64_t result);

// aarch64. `call`: the number (x8); then the instructions before the pc and at it. Before a tracer
// can look, the kernel here forgets that there was a call; if the call is to be made again, it puts
// the pc back to the call instruction. So a thread that is just about to make the call looks the
// same, but only for the time of one instruction.
bool aarch64_waited(std::uint64_t call, std::uint32_t before_pc, std::uint32_t at_pc);

}  // namespace labelscope
