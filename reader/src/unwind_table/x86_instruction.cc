//   [prefixes] [REX] opcode [ModRM [SIB] [displacement]] [immediate]
//   VEX, EVEX or XOP: 2 to 4 bytes, which have what prefixes, REX and the map of opcodes say
//
// Lengths follow from the opcode alone, except for what ModRM adds and two groups (0xf6, 0xf7).
// Written registers are reported for instructions of general registers, also those that the opcode
// implies, as rax and rdx of a division. If a vector register has the number of sp or bp, only
// accuracy is lost.
#include "unwind_table/x86_instruction.h"

#include "unwind_table/x86_decoder.h"

namespace labelscope::x86 {

Instruction Decoder::decode() {
  read_prefixes();
  opcode_ = byte();
  if (opcode_ == 0xc4 || opcode_ == 0xc5 || opcode_ == 0x62 ||
      (opcode_ == 0x8f && (peek() & 0x1f) >= 8)) {
    read_vector();
  } else if (opcode_ == 0x0f) {
    read_0f();
  } else {
    read_one();
  }
  if (failed_) return {};
  result_.size = static_cast<std::uint8_t>(at_);
  return result_;
}

Instruction decode(std::string_view code) {
  Instruction instruction = Decoder(code).decode();
  // An instruction that is not followed may change it all the same.
  const bool writes_sp = instruction.written == kSp || instruction.also_written >> kSp & 1;
  const bool followed = instruction.effect == Effect::kMoveStack ||
                        (instruction.effect == Effect::kCopy && instruction.written == kSp);
  if (writes_sp && !followed) instruction.effect = Effect::kLoseStack;
  return instruction;
}

std::size_t padding(std::string_view code) {
  code = code.substr(0, kLongest);
  std::size_t at = 0;
  while (at < code.size() && (code[at] == '\x66' || code[at] == '\x2e')) ++at;
  const std::string_view rest = code.substr(at);
  if (rest.empty()) return 0;
  if (rest[0] == '\x90') return at + 1;
  if (at == 0 && (rest[0] == '\xcc' || rest[0] == '\0')) return 1;
  // lea 0(%rsi), %rsi and its longer forms are 32-bit only; 64-bit code has nopw/nopl with an
  // address.
  if (rest.size() < 3 || rest[0] != '\x0f' || rest[1] != '\x1f') return 0;
  const auto form = static_cast<unsigned char>(rest[2]);
  if (form >> 6 == 3) return at + 3;
  const std::size_t index = (form & 7) == 4 ? 1 : 0;
  const std::size_t displacement = form >> 6 == 1 ? 1 : form >> 6 == 2 ? 4 : 0;
  return at + 3 + index + displacement;
}

}  // namespace labelscope::x86
