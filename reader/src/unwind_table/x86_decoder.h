// This is what all instructions have in common: the bytes in front of and behind the opcode, and
// how what an opcode does to registers is noted. Which opcode does what is in x86_one_byte.cc and
// x86_two_bytes.cc; x86_instruction.cc has the drawing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "unwind_table/x86_instruction.h"

namespace labelscope::x86 {

class Decoder {
 public:
  explicit Decoder(std::string_view code) : code_(code.substr(0, kLongest)) {}
  Instruction decode();

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

  void read_one();
  std::uint8_t low_register() const;
  void read_arithmetic();
  void read_6x();
  void read_8x();
  void read_9x();
  void read_ax();
  void read_cx();
  void read_dx();
  void read_ex();
  void read_fx();

  // ---- opcodes behind 0x0f

  void read_0f();
  bool is_single_0f() const;
  void write_single_0f();
  bool has_immediate_0f() const;
  void write_0f();

  // ---- VEX, EVEX, XOP

  void read_vector();
  void write_vector(unsigned map, std::uint8_t other);

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

}  // namespace labelscope::x86
