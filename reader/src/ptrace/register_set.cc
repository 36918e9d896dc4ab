#include "ptrace/register_set.h"

#include <array>
#include <cstring>
#include <string>

#include "ptrace/waiting_call.h"

namespace labelscope {
namespace {

// The index of each DWARF register in the words of struct user_regs_struct. Register 16 is the
// return address, which is rip here.
constexpr std::array<std::size_t, 17> kX86Words{
    10, 12, 11, 5, 13, 14, 4, 19,  // rax rdx rcx rbx rsi rdi rbp rsp
    9,  8,  7,  6, 3,  2,  1, 0,   // r8 to r15
    16,                            // rip
};
constexpr std::size_t kX86FsBase = 21;
constexpr std::size_t kX86Result = 10;      // rax
constexpr std::size_t kX86CallNumber = 15;  // orig_rax; negative outside of system calls
constexpr std::size_t kX86Size = 27 * sizeof(std::uint64_t);
// The register sets of 32-bit threads: 17 and 18 words of 4 bytes.
constexpr std::size_t kI386Size = 17 * sizeof(std::uint32_t);
constexpr std::size_t kArmSize = 18 * sizeof(std::uint32_t);

// struct user_pt_regs: x0 to x30, sp, pc, pstate.
constexpr std::size_t kAarch64Pc = 32;
constexpr std::size_t kAarch64Size = 34 * sizeof(std::uint64_t);

std::uint64_t word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

std::size_t register_set_size(Machine machine) {
  return machine == Machine::kX86_64 ? kX86Size : kAarch64Size;
}

Result<RegisterSet> decode_register_set(Machine machine, std::span<const std::byte> bytes) {
  if (bytes.size() == (machine == Machine::kX86_64 ? kI386Size : kArmSize)) {
    return Error{ErrorCode::kUnsupported, "a 32-bit program: only 64-bit ones have labels"};
  }
  if (bytes.size() < register_set_size(machine)) {
    return Error{ErrorCode::kMalformed,
                 "a register set of " + std::to_string(bytes.size()) + " bytes is too short"};
  }
  RegisterSet set;
  Registers& registers = set.registers;
  registers.machine = machine;
  if (machine == Machine::kX86_64) {
    for (std::size_t i = 0; i < kX86Words.size(); ++i) {
      registers.dwarf[i] = word(bytes, kX86Words[i]);
    }
    registers.pc = registers.dwarf[16];
    set.thread_pointer = word(bytes, kX86FsBase);
    const auto call = static_cast<std::int64_t>(word(bytes, kX86CallNumber));
    const auto result = static_cast<std::int64_t>(word(bytes, kX86Result));
    set.in_waiting_call = x86_64_waited(call, result);
  } else {
    for (std::size_t i = 0; i < Registers::kMost; ++i) registers.dwarf[i] = word(bytes, i);
    registers.pc = word(bytes, kAarch64Pc);
  }
  return set;
}

}  // namespace labelscope
