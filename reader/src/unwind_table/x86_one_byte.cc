// Opcodes of one byte, by their first digit.
#include "unwind_table/x86_decoder.h"

namespace labelscope::x86 {

void Decoder::read_one() {
  if (opcode_ < 0x40) return read_arithmetic();
  switch (opcode_ >> 4) {
    case 5:
      return opcode_ & 8 ? pop(low_register()) : push(low_register());
    case 6:
      return read_6x();
    case 7:
      return leads(Flow::kBranch, value<std::int8_t>());
    case 8:
      return read_8x();
    case 9:
      return read_9x();
    case 0xa:
      return read_ax();
    case 0xb:
      if (opcode_ & 8) {
        wide() ? skip(8) : static_cast<void>(immediate());
        return write(low_register());
      }
      skip(1);
      return write_byte(low_register());
    case 0xc:
      return read_cx();
    case 0xd:
      return read_dx();
    case 0xe:
      return read_ex();
    case 0xf:
      return read_fx();
    default:  // REX twice
      failed_ = true;
  }
}

std::uint8_t Decoder::low_register() const {
  return static_cast<std::uint8_t>((opcode_ & 7) | (rex_ & 1) << 3);
}

void Decoder::read_arithmetic() {
  const bool compares = opcode_ >= 0x38;
  switch (opcode_ & 7) {
    case 0:
    case 1:
      read_modrm();
      if (!compares) write_rm((opcode_ & 1) == 0);
      return;
    case 2:
    case 3:
      read_modrm();
      if (!compares) opcode_ & 1 ? write(reg_) : write_byte(reg_);
      return;
    case 4:
      if (!compares) write_also(kAx);
      return skip(1);
    case 5:
      static_cast<void>(immediate());
      if (!compares) write_also(kAx);
      return;
    default:
      failed_ = true;
  }
}

void Decoder::read_6x() {
  switch (opcode_) {
    case 0x63:
      read_modrm();
      return write(reg_);
    case 0x68:
      static_cast<void>(immediate());
      return push(kNoRegister);
    case 0x69:
      read_modrm();
      static_cast<void>(immediate());
      return write(reg_);
    case 0x6a:
      skip(1);
      return push(kNoRegister);
    case 0x6b:
      read_modrm();
      skip(1);
      return write(reg_);
    case 0x60:
    case 0x61:
      failed_ = true;
      return;
    default:  // input and output of strings
      return write_string(opcode_ < 0x6e ? kDi : kSi);
  }
}

void Decoder::read_8x() {
  read_modrm();
  switch (opcode_) {
    case 0x80:
    case 0x83: {
      const std::int32_t amount{value<std::int8_t>()};
      return arithmetic(amount, opcode_ == 0x80);
    }
    case 0x81: {
      const std::int32_t amount = immediate();
      return arithmetic(amount, false);
    }
    case 0x82:
      failed_ = true;
      return;
    case 0x86:
    case 0x87:
      write_rm(opcode_ == 0x86);
      if (opcode_ == 0x87 || has_rex_ || reg_ < 4) write_also(bit(reg_));
      return;
    case 0x88:
      return write_rm(true);
    case 0x89:
      return move_store();
    case 0x8a:
      return write_byte(reg_);
    case 0x8b:
      return move_load();
    case 0x8c:
      return write_rm();
    case 0x8d:
      return load_address();
    case 0x8f:
      return pop(in_register() ? rm_ : kNoRegister);
    default:  // test; mov to a segment register
      return;
  }
}

void Decoder::read_9x() {
  if (opcode_ < 0x98) {  // xchg with rax; nop, pause
    if (low_register() == 0) return;
    write_also(kAx);
    return write(low_register());
  }
  if (opcode_ == 0x98 || opcode_ == 0x9f) write_also(kAx);  // cdqe; lahf
  if (opcode_ == 0x99) write_also(kDx);                     // cqo
  if (opcode_ == 0x9a) failed_ = true;
  if (opcode_ == 0x9c) push(kNoRegister);
  if (opcode_ == 0x9d) pop(kNoRegister);
}

void Decoder::read_ax() {
  if (opcode_ < 0xa4) {
    if (opcode_ < 0xa2) write_also(kAx);
    return skip(has_67_ ? 4 : 8);
  }
  switch (opcode_ & ~1) {
    case 0xa4:  // movs
    case 0xa6:  // cmps
      return write_string(kSi | kDi);
    case 0xa8:  // test
      return opcode_ == 0xa8 ? skip(1) : static_cast<void>(immediate());
    case 0xac:  // lods
      return write_string(kSi | kAx);
    default:  // stos, scas
      return write_string(kDi);
  }
}

void Decoder::read_cx() {
  switch (opcode_) {
    case 0xc0:
    case 0xc1:
      read_modrm();
      skip(1);
      return write_rm(opcode_ == 0xc0);
    case 0xc2:
    case 0xca:
      skip(2);
      [[fallthrough]];
    case 0xc3:
    case 0xcb:
    case 0xcf:
      result_.flow = Flow::kReturn;
      return;
    case 0xc6:
      read_modrm();
      skip(1);
      return write_rm(true);
    case 0xc7:
      read_modrm();
      static_cast<void>(immediate());
      return write_rm();
    case 0xc8:
      skip(3);
      result_.effect = Effect::kLoseStack;
      return write(kBp);
    case 0xc9:
      result_.effect = Effect::kLeave;
      return;
    case 0xcc:  // int3: the debugger that put it there goes on
      return;
    case 0xcd:
      return skip(1);
    default:
      failed_ = true;
  }
}

void Decoder::read_dx() {
  if (opcode_ == 0xd7) return write_also(kAx);  // xlat
  if (opcode_ >= 0xd4 && opcode_ < 0xd7) {
    failed_ = true;
    return;
  }
  read_modrm();
  if (opcode_ < 0xd4) return write_rm((opcode_ & 1) == 0);
  if (opcode_ == 0xdf && in_register() && group_ == 4) write_also(kAx);  // fnstsw
}

void Decoder::read_ex() {
  switch (opcode_) {
    case 0xe8: {
      const auto distance = value<std::int32_t>();
      // In this way position-independent code may find out where it is.
      return distance == 0 ? push(kNoRegister) : leads(Flow::kCall, distance);
    }
    case 0xe9:
      return leads(Flow::kJump, value<std::int32_t>());
    case 0xea:
      failed_ = true;
      return;
    case 0xeb:
      return leads(Flow::kJump, value<std::int8_t>());
    default:
      if (opcode_ < 0xe4) {  // loops, and jrcxz, which only reads rcx
        if (opcode_ < 0xe3) write_also(kCx);
        return leads(Flow::kBranch, value<std::int8_t>());
      }
      if (opcode_ < 0xe8) skip(1);
      if ((opcode_ & 2) == 0) write_also(kAx);  // in
  }
}

void Decoder::read_fx() {
  switch (opcode_) {
    case 0xf4:
      result_.flow = Flow::kStop;
      return;
    case 0xf6:
    case 0xf7:
      read_modrm();
      if (group_ < 2) opcode_ == 0xf6 ? skip(1) : static_cast<void>(immediate());
      if (group_ == 2 || group_ == 3) write_rm(opcode_ == 0xf6);
      if (group_ > 3) write_also(opcode_ == 0xf6 ? kAx : kAx | kDx);  // mul, div
      return;
    case 0xfe:
      read_modrm();
      if (group_ > 1) failed_ = true;
      return write_rm(true);
    case 0xff:
      read_modrm();
      return group_ff();
    default:
      return;
  }
}

}  // namespace labelscope::x86
