// These are the registers of a thread that unwinding its stack needs, from ptrace, or from a core
// file of either processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "labelscope/elf_types.h"
#include "labelscope/ids.h"

namespace labelscope {

struct Registers {
  // They are in the order of DWARF register numbers: x86-64 has 17 (psABI figure 3.36: rax, rdx,
  // rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, return address), aarch64 32 (x0 to x30, sp; AADWARF64
  // section 4.1).
  static constexpr std::size_t kMost = 32;
  Machine machine{};
  std::array<std::uint64_t, kMost> dwarf{};
  Address pc = 0;

  Address stack_pointer() const { return dwarf[machine == Machine::kX86_64 ? 7 : 31]; }
};

}  // namespace labelscope
