// This decodes one instruction of x86-64: how long it is, where it leads, and what it does to the
// stack pointer, to the frame pointer, and to registers that may hold a copy of either. An unwinder
// needs no more, so its other effects are not reported.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
// appendix A; AMD64 Architecture Programmer's Manual, volume 3, for XOP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace labelscope::x86 {

// These are registers as instructions encode them.
inline constexpr std::uint8_t kSp = 4;
inline constexpr std::uint8_t kBp = 5;
inline constexpr std::uint8_t kNoRegister = 0xff;

enum class Flow : std::uint8_t {
  kNext,          // it goes on behind itself
  kBranch,        // it goes on behind itself, or `distance` further
  kJump,          // `distance` further
  kCall,          // goes on behind itself when the function that is `distance` further returns
  kIndirectCall,  // the same, but through a register or memory
  kIndirectJump,
  kReturn,
  kStop,  // it goes nowhere: ud2, hlt
};

enum class Effect : std::uint8_t {
  kNone,       // nothing, except on `written` and `also_written`
  kMoveStack,  // sp += amount
  kPush,       // pushes a word: register `source`, or something else (kNoRegister)
  kPop,        // pops a word, into `written` if that is a register
  kCopy,       // `written` = register `source` + amount; one of the two is sp or bp
  kStore,      // memory at sp + amount = register `source`
  kLoad,       // `written` = memory at sp + amount
  kLeave,      // sp = bp, then pop bp
  kLoseStack,  // sp becomes unknown
};

struct Instruction {
  std::uint8_t size = 0;  // 0 if it is no instruction, or goes on behind the given bytes
  Flow flow = Flow::kNext;
  Effect effect = Effect::kNone;
  std::uint8_t source = kNoRegister;
  std::uint8_t written = kNoRegister;
  std::uint16_t also_written = 0;  // a bit for each register that is written beside that one
  std::int32_t distance = 0;       // counted from behind the instruction
  std::int64_t amount = 0;
};

inline constexpr std::size_t kLongest = 15;

Instruction decode(std::string_view code);

// Returns the size of the instruction at the beginning of `code`, if that does nothing, or is a
// trap or zero, with which linkers and compilers fill up to the next function. Returns 0 if it is
// something else.
std::size_t padding(std::string_view code);

}  // namespace labelscope::x86
