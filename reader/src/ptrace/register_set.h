// The kernel's general registers of one thread (NT_PRSTATUS, from ptrace or from a core file), put
// into DWARF order. Either machine's on either machine: only bytes are looked at.
//
// Sources: the kernel's arch/x86/include/asm/user_64.h (struct user_regs_struct) and
// arch/arm64/include/uapi/asm/ptrace.h (struct user_pt_regs).
#pragma once

#include <cstddef>
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
  // registers alone do not tell (waiting_call.h).
  bool in_waiting_call = false;
};

// Bytes of the set of each machine; in a core file's note it stands behind struct elf_prstatus's
// first 112 bytes.
std::size_t register_set_size(Machine machine);

// kMalformed: fewer bytes than that.
Result<RegisterSet> decode_register_set(Machine machine, std::span<const std::byte> bytes);

}  // namespace labelscope
