// One machine instruction: how long it is, where it may lead, and as text. Through capstone, which
// nothing else uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "labelscope/ids.h"

struct cs_insn;  // of capstone

namespace labelscope::cli {

enum class Flow : std::uint8_t {
  kNext,  // goes on behind itself
  kCall,
  kReturn,
  kJump,  // conditional or not
  kSystemCall,
  kTrap,           // a breakpoint of the program's own
  kExclusiveLoad,  // aarch64: a sequence may begin (exits_of_exclusive_sequence)
};

struct Instruction {
  std::size_t size = 0;
  Flow flow = Flow::kNext;
  bool through_register = false;  // a call to where a register says, or memory that it points to
};

inline constexpr std::size_t kMaxInstructionSize = 16;

// Not thread-safe.
class Disassembler {
 public:
  Disassembler();
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // Bytes that are no instruction are one of size 1 (x86-64) or 4 (aarch64) that goes on.
  Instruction decode(Address address, std::span<const std::byte> code) const;
  // "mov qword ptr [rax + 8], rdx"; empty if they are none.
  std::string text(Address address, std::span<const std::byte> code) const;

 private:
  // Null if the bytes are no instruction. Valid until the next call.
  const cs_insn* disassemble(Address address, std::span<const std::byte> code) const;

  std::size_t handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

// Where a sequence of an exclusive load and its store, begun by the first instruction, can be left:
// it must run as if it were one instruction (aarch64_code.h). Empty: none begins, as always on
// x86-64.
std::vector<Address> exits_of_exclusive_sequence(Address address, std::span<const std::byte> code);
// Code that such a sequence takes, at most.
inline constexpr std::size_t kExclusiveCode = 64;

}  // namespace labelscope::cli
