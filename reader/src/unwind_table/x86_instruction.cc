//   [prefixes] [REX] opcode [ModRM [SIB] [displacement]] [immediate]
//   VEX, EVEX or XOP: 2 to 4 bytes, which have what prefixes, REX and the map of opcodes say
//
// Lengths follow from the opcode alone, except for what ModRM adds and two groups (0xf6, 0xf7).
// Written registers are reported for instructions of general registers, also those that the opcode
// implies, as rax and rdx of a division. If a vector register has the number of sp or bp, only
// accuracy is lost.
#include "unwind_table/x86_instruction.h"

#include <cstring>

namespace labelscope::x86 {
namespace {

class Decoder {
 public:
  explicit Decoder(std::string_view code) : code_(code.substr(0, kLongest)) {}

  Instruction decode() {
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

 private:
  // ---- bytes

  std::uint8_t peek() const {
    return at_ < code_.size() ? static_cast<std::uint8_t>(code_[at_]) : 0;
  }
  std::uint8_t byte() {
    if (at_ >= code_.size()) failed_ = true;
    const std::uint8_t value = peek();
    ++at_;
    return value;
  }
  template <class T>
  T value() {
    T number{};
    if (at_ + sizeof number > code_.size()) {
      failed_ = true;
    } else {
      std::memcpy(&number, code_.data() + at_, sizeof number);
    }
    at_ += sizeof number;
    return number;
  }
  void skip(std::size_t size) {
    if (at_ + size > code_.size()) failed_ = true;
    at_ += size;
  }
  // Reads an immediate of the size that operands have, at most four bytes.
  std::int32_t immediate() {
    return has_66_ && !wide() ? value<std::int16_t>() : value<std::int32_t>();
  }

  void read_prefixes() {
    for (;; ++at_) {
      switch (peek()) {
        case 0x66:
          has_66_ = true;
          break;
        case 0x67:
          has_67_ = true;
          break;
        case 0xf2:
        case 0xf3:
          repeats_ = peek();
          break;
        case 0xf0:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x26:
        case 0x64:
        case 0x65:
          break;
        default:
          if ((peek() & 0xf0) == 0x40) {
            has_rex_ = true;
            rex_ = byte();
          }
          return;
      }
      if (at_ >= code_.size()) return;
    }
  }

  bool wide() const { return rex_ & 8; }

  void read_modrm() {
    const std::uint8_t modrm = byte();
    mod_ = modrm >> 6;
    group_ = modrm >> 3 & 7;
    reg_ = static_cast<std::uint8_t>(group_ | (rex_ & 4) << 1);
    rm_ = static_cast<std::uint8_t>((modrm & 7) | (rex_ & 1) << 3);
    if (mod_ == 3) return;
    base_ = rm_;
    std::uint8_t low = modrm & 7;
    if (low == 4) {
      const std::uint8_t sib = byte();
      has_index_ = (sib >> 3 & 7) != 4 || (rex_ & 2);
      low = sib & 7;
      base_ = static_cast<std::uint8_t>(low | (rex_ & 1) << 3);
      if (low != 5) low = 0;
    }
    if (mod_ == 1) {
      displacement_ = std::int32_t{value<std::int8_t>()};
    } else if (mod_ == 2) {
      displacement_ = value<std::int32_t>();
    } else if (low == 5) {  // relative to the next instruction, or absolute
      displacement_ = value<std::int32_t>();
      base_ = kNoRegister;
    }
  }

  // ---- what it does

  bool in_register() const { return mod_ == 3; }
  bool at(std::uint8_t base) const { return mod_ != 3 && base_ == base && !has_index_ && !has_67_; }

  static constexpr std::uint16_t bit(unsigned number) {
    return static_cast<std::uint16_t>(1U << (number & 15));
  }
  static constexpr std::uint16_t kAx = 1 << 0;
  static constexpr std::uint16_t kCx = 1 << 1;
  static constexpr std::uint16_t kDx = 1 << 2;
  static constexpr std::uint16_t kBx = 1 << 3;
  static constexpr std::uint16_t kSi = 1 << 6;
  static constexpr std::uint16_t kDi = 1 << 7;
  static constexpr std::uint16_t kR11 = 1 << 11;

  void write(std::uint8_t number) { result_.written = number; }
  // Adds registers, as bits, that are written as well.
  void write_also(unsigned registers) {
    result_.also_written |= static_cast<std::uint16_t>(registers);
  }
  // A string instruction moves its pointers, and counts in rcx if it is repeated.
  void write_string(unsigned pointers) { write_also(repeats_ != 0 ? pointers | kCx : pointers); }
  // Without REX, numbers 4 to 7 of byte registers are ah to bh.
  void write_byte(std::uint8_t number) {
    if (has_rex_ || number < 4) write(number);
  }
  void write_rm(bool is_byte = false) {
    if (in_register()) is_byte ? write_byte(rm_) : write(rm_);
  }

  void push(std::uint8_t source) {
    result_.effect = has_66_ ? Effect::kLoseStack : Effect::kPush;
    result_.source = source;
  }
  void pop(std::uint8_t target) {
    result_.effect = has_66_ ? Effect::kLoseStack : Effect::kPop;
    result_.written = target;
  }
  void leads(Flow flow, std::int32_t distance) {
    result_.flow = flow;
    result_.distance = distance;
  }

  // Only copies that may be undone are reported; others just write `to`.
  void copy(std::uint8_t to, std::uint8_t from, std::int32_t amount) {
    write(to);
    if (!wide()) return;
    if (to == kSp && from == kSp) {
      result_.effect = Effect::kMoveStack;
      result_.amount = amount;
    } else if (to == kSp || from == kSp || from == kBp) {
      result_.effect = Effect::kCopy;
      result_.source = from;
      result_.amount = amount;
    }
  }

  void move_store() {  // 0x89: to ModRM
    if (in_register()) return copy(rm_, reg_, 0);
    if (!at(kSp) || !wide()) return;
    result_.effect = Effect::kStore;
    result_.source = reg_;
    result_.amount = displacement_;
  }

  void move_load() {  // 0x8b: from ModRM
    if (in_register()) return copy(reg_, rm_, 0);
    write(reg_);
    if (!at(kSp) || !wide()) return;
    result_.effect = Effect::kLoad;
    result_.amount = displacement_;
  }

  void load_address() {  // 0x8d
    if (at(base_) && base_ != kNoRegister) return copy(reg_, base_, displacement_);
    write(reg_);
  }

  // Opcodes 0x80 to 0x83 are add, or, adc, sbb, and, sub, xor, cmp.
  void arithmetic(std::int32_t amount, bool is_byte) {
    if (group_ == 7) return;
    write_rm(is_byte);
    const bool adds = group_ == 0 || group_ == 5;
    if (!in_register() || rm_ != kSp || is_byte || !wide() || !adds) return;
    result_.effect = Effect::kMoveStack;
    result_.amount = group_ == 0 ? amount : -std::int64_t{amount};
  }

  void group_ff() {
    switch (group_) {
      case 0:
      case 1:
        return write_rm();
      case 2:
      case 3:
        result_.flow = Flow::kIndirectCall;
        return;
      case 4:
      case 5:
        result_.flow = Flow::kIndirectJump;
        return;
      case 6:
        return push(in_register() ? rm_ : kNoRegister);
      default:
        failed_ = true;
    }
  }

  // ---- opcodes of one byte

  void read_one() {
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

  std::uint8_t low_register() const {
    return static_cast<std::uint8_t>((opcode_ & 7) | (rex_ & 1) << 3);
  }

  void read_arithmetic() {
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

  void read_6x() {
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

  void read_8x() {
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

  void read_9x() {
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

  void read_ax() {
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

  void read_cx() {
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

  void read_dx() {
    if (opcode_ == 0xd7) return write_also(kAx);  // xlat
    if (opcode_ >= 0xd4 && opcode_ < 0xd7) {
      failed_ = true;
      return;
    }
    read_modrm();
    if (opcode_ < 0xd4) return write_rm((opcode_ & 1) == 0);
    if (opcode_ == 0xdf && in_register() && group_ == 4) write_also(kAx);  // fnstsw
  }

  void read_ex() {
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

  void read_fx() {
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

  // ---- opcodes behind 0x0f

  void read_0f() {
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

  bool is_single_0f() const {
    return (opcode_ >= 0x05 && opcode_ <= 0x09) || opcode_ == 0x0e || opcode_ >> 4 == 3 ||
           opcode_ == 0x77 || opcode_ == 0xa2 || opcode_ == 0xaa;
  }
  void write_single_0f() {
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
  bool has_immediate_0f() const {
    return (opcode_ >= 0x70 && opcode_ <= 0x73) || opcode_ == 0xa4 || opcode_ == 0xac ||
           opcode_ == 0xba || opcode_ == 0xc2 || (opcode_ >= 0xc4 && opcode_ <= 0xc6) ||
           opcode_ == 0x0f;
  }

  void write_0f() {
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

  // ---- VEX, EVEX, XOP

  void read_vector() {
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
  void write_vector(unsigned map, std::uint8_t other) {
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

  std::string_view code_;
  std::size_t at_ = 0;
  bool failed_ = false;
  bool has_66_ = false;
  bool has_67_ = false;
  std::uint8_t repeats_ = 0;
  bool has_rex_ = false;
  std::uint8_t rex_ = 0;
  std::uint8_t opcode_ = 0;
  std::uint8_t mod_ = 0;
  std::uint8_t group_ = 0;  // the three bits that choose an instruction in a group of them
  std::uint8_t reg_ = 0;
  std::uint8_t rm_ = 0;
  std::uint8_t base_ = kNoRegister;
  bool has_index_ = false;
  std::int32_t displacement_ = 0;
  Instruction result_;
};

}  // namespace

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
