// One instruction of x86-64: how long it is, where it leads, and what it does to the stack pointer, to
// the frame pointer, and to registers that may hold a copy of either. That is all an unwinder asks;
// of what else it does, nothing is told.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
// appendix A; AMD64 Architecture Programmer's Manual, volume 3, for XOP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace labelscope::x86 {

// Registers as instructions encode them.
inline constexpr std::uint8_t kSp = 4;
inline constexpr std::uint8_t kBp = 5;
inline constexpr std::uint8_t kNoRegister = 0xff;

enum class Flow : std::uint8_t {
  kNext,          // goes on behind itself
  kBranch,        // that, or `distance` further
  kJump,          // `distance` further
  kCall,          // goes on behind itself when the function that is `distance` further returns
  kIndirectCall,  // the same, through a register or memory
  kIndirectJump,
  kReturn,
  kStop,  // goes nowhere: ud2, hlt
};

enum class Effect : std::uint8_t {
  kNone,       // but on `written`, and on `also_written`
  kMoveStack,  // sp += amount
  kPush,       // a word: register `source`, or something else (kNoRegister)
  kPop,        // a word, into `written` if that is a register
  kCopy,       // `written` = register `source` + amount; one of both is sp or bp
  kStore,      // memory at sp + amount = register `source`
  kLoad,       // `written` = memory at sp + amount
  kLeave,      // sp = bp, then pop bp
  kLoseStack,  // sp is what cannot be told
};

struct Instruction {
  std::uint8_t size = 0;  // 0: it is none, or goes on behind the bytes that were given
  Flow flow = Flow::kNext;
  Effect effect = Effect::kNone;
  std::uint8_t source = kNoRegister;
  std::uint8_t written = kNoRegister;
  std::uint8_t also_written = kNoRegister;
  std::int32_t distance = 0;  // from behind the instruction
  std::int32_t amount = 0;
};

inline constexpr std::size_t kLongest = 15;

Instruction decode(std::string_view code);

// The size of the instruction that does nothing, or of the trap or zero, which `code` begins with:
// linkers and compilers fill up with them to the next function. 0: it is something else.
std::size_t padding(std::string_view code);

}  // namespace labelscope::x86
