// Opcodes behind 0x0f, and those of vector instructions (VEX, EVEX, XOP), most of which are the
// same.
#include "unwind_table/x86_decoder.h"

namespace labelscope::x86 {

void Decoder::read_0f() {
  opcode_ = byte();
  if (opcode_ == 0x38 || opcode_ == 0x3a) {
    const bool has_immediate = opcode_ == 0x3a;
    opcode_ = byte();
    read_modrm();
    if (has_immediate) skip(1);
    if (has_immediate && opcode_ >= 0x14 && opcode_ <= 0x17) write_rm();
    if (has_immediate && (opcode_ == 0x61 || opcode_ == 0x63)) write_also(kCx);  // pcmpestri
    if (!has_immediate && opcode_ >= 0xf0)
      opcode_ == 0xf1 && !repeats_ ? write_rm() : write(reg_);
    return;
  }
  if (opcode_ >> 4 == 8) return leads(Flow::kBranch, value<std::int32_t>());
  if (opcode_ == 0x0b) {  // ud2
    result_.flow = Flow::kStop;
    return;
  }
  if (opcode_ == 0xa0 || opcode_ == 0xa8) return push(kNoRegister);
  if (opcode_ == 0xa1 || opcode_ == 0xa9) return pop(kNoRegister);
  if (opcode_ >= 0xc8 && opcode_ <= 0xcf) return write(low_register());  // bswap
  if (is_single_0f()) return write_single_0f();
  read_modrm();
  if (opcode_ == 0xb9 || opcode_ == 0xff) result_.flow = Flow::kStop;  // ud1, ud0
  if (has_immediate_0f()) skip(1);
  if (opcode_ == 0x78 && (has_66_ || repeats_ == 0xf2)) skip(2);
  write_0f();
}

bool Decoder::is_single_0f() const {
  return (opcode_ >= 0x05 && opcode_ <= 0x09) || opcode_ == 0x0e || opcode_ >> 4 == 3 ||
         opcode_ == 0x77 || opcode_ == 0xa2 || opcode_ == 0xaa;
}

void Decoder::write_single_0f() {
  switch (opcode_) {
    case 0x05:  // syscall
      return write_also(kAx | kCx | kR11);
    case 0x31:  // rdtsc, rdmsr, rdpmc
    case 0x32:
    case 0x33:
      return write_also(kAx | kDx);
    case 0xa2:  // cpuid
      return write_also(kAx | kBx | kCx | kDx);
    default:
      return;
  }
}

bool Decoder::has_immediate_0f() const {
  return (opcode_ >= 0x70 && opcode_ <= 0x73) || opcode_ == 0xa4 || opcode_ == 0xac ||
         opcode_ == 0xba || opcode_ == 0xc2 || (opcode_ >= 0xc4 && opcode_ <= 0xc6) ||
         opcode_ == 0x0f;
}

void Decoder::write_0f() {
  if (opcode_ >> 4 == 4) return write(reg_);     // cmov
  if (opcode_ >> 4 == 9) return write_rm(true);  // set
  switch (opcode_) {
    case 0x02:
    case 0x03:
    case 0x2c:
    case 0x2d:
    case 0x50:
    case 0xaf:
    case 0xb6:
    case 0xb7:
    case 0xb8:
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf:
    case 0xc5:
    case 0xd7:
      return write(reg_);
    case 0x7e:
      if (repeats_ == 0) write_rm();
      return;
    case 0xae:  // rdfsbase, rdgsbase
      if (repeats_ == 0xf3 && group_ < 2) write_rm();
      return;
    case 0xba:
      if (group_ > 4) write_rm();
      return;
    case 0xc0:
    case 0xc1:
      write_rm(opcode_ == 0xc0);
      if (opcode_ == 0xc1 || has_rex_ || reg_ < 4) write_also(bit(reg_));
      return;
    case 0x01:  // xgetbv, rdtscp and others without an operand; smsw has one
      if (in_register()) group_ == 4 ? write_rm() : write_also(kAx | kCx | kDx);
      return;
    case 0xb0:  // cmpxchg
    case 0xb1:
      write_also(kAx);
      return write_rm(opcode_ == 0xb0);
    case 0xc7:  // rdrand, rdseed; cmpxchg16b
      in_register() ? write_rm() : write_also(kAx | kDx);
      return;
    case 0x00:
    case 0x20:
    case 0x21:
    case 0xa4:
    case 0xa5:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xb3:
    case 0xbb:
      return write_rm();
    default:
      return;
  }
}

void Decoder::read_vector() {
  const std::uint8_t kind = opcode_;
  const std::uint8_t first = byte();
  unsigned map = 1;
  std::uint8_t last = first;
  rex_ = first & 0x80 ? 0 : 4;
  if (kind != 0xc5) {
    map = first & (kind == 0x62 ? 7 : 0x1f);
    rex_ = static_cast<std::uint8_t>(~first >> 5 & 7);
    last = byte();
    if (last & 0x80) rex_ |= 8;
    if (kind == 0x62) skip(1);
  }
  if (kind == 0x62 && (last & 4) == 0) failed_ = true;
  const auto other = static_cast<std::uint8_t>(~last >> 3 & 0xf);
  opcode_ = byte();
  // vzeroupper has no operand.
  if ((kind == 0xc5 || kind == 0xc4) && map == 1 && opcode_ == 0x77) return;
  read_modrm();
  if (kind == 0x8f) {
    if (map == 8) skip(1);
    if (map == 10) skip(4);
    if (map == 8) return;
    write(reg_);
    return write_also(bit(other));
  }
  if (map == 0 || map > 6) failed_ = true;
  if (map == 3 || (map == 1 && has_immediate_0f())) skip(1);
  write_vector(map, other);
}

// These instructions go from a vector or mask register to a general one, or are the arithmetic of
// BMI.
void Decoder::write_vector(unsigned map, std::uint8_t other) {
  if (map == 1) {
    const bool to_register = opcode_ == 0x2c || opcode_ == 0x2d || opcode_ == 0x50 ||
                             opcode_ == 0x78 || opcode_ == 0x79 || opcode_ == 0x93 ||
                             opcode_ == 0xc5 || opcode_ == 0xd7;
    if (to_register) write(reg_);
    if (opcode_ == 0x7e) write_rm();
  } else if (map == 2 && opcode_ >= 0xf2 && opcode_ <= 0xf7) {
    if (opcode_ != 0xf3) write(reg_);
    if (opcode_ == 0xf3 || opcode_ == 0xf6) write_also(bit(other));
  } else if (map == 3) {
    if (opcode_ == 0xf0) write(reg_);
    if (opcode_ >= 0x14 && opcode_ <= 0x17) write_rm();
    if (opcode_ == 0x61 || opcode_ == 0x63) write_also(kCx);
  }
}

}  // namespace labelscope::x86
