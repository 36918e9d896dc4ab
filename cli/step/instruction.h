// One machine instruction: its length, where it may lead, and its text. Only this uses capstone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "labelscope/ids.h"

struct cs_insn;  // type of capstone

namespace labelscope::cli {

enum class Flow : std::uint8_t {
  kNext,  // continues at the next instruction
  kCall,
  kReturn,
  kJump,  // conditional or not
  kSystemCall,
  kTrap,           // a breakpoint that the program itself contains
  kExclusiveLoad,  // aarch64: may begin a sequence (exits_of_exclusive_sequence)
};

struct Instruction {
  std::size_t size = 0;
  Flow flow = Flow::kNext;
  // a call whose destination is in a register, or in memory that it points to
  bool through_register = false;
};

inline constexpr std::size_t kMaxInstructionSize = 16;

// Not thread-safe.
class Disassembler {
 public:
  Disassembler();
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // Bytes that are no instruction become one of size 1 (x86-64) or 4 (aarch64) that continues at
  // the next.
  Instruction decode(Address address, std::span<const std::byte> code) const;
  // Returns "mov qword ptr [rax + 8], rdx"; empty if the bytes are no instruction.
  std::string text(Address address, std::span<const std::byte> code) const;

 private:
  // Returns null if the bytes are no instruction. The result is valid until the next call.
  const cs_insn* disassemble(Address address, std::span<const std::byte> code) const;

  std::size_t handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

// Returns the addresses at which a sequence of an exclusive load and its store, begun by the first
// instruction, can be left. It must run as if it were one instruction (aarch64_code.h). Empty if
// none begins, as always on x86-64.
std::vector<Address> exits_of_exclusive_sequence(Address address, std::span<const std::byte> code);
// The most bytes of code that such a sequence takes.
inline constexpr std::size_t kExclusiveCode = 64;

}  // namespace labelscope::cli
