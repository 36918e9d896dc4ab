// Accessors of x86-64: the argument is in rdi, the result in rax.
#include <array>
#include <optional>
#include <string>

#include "base/text.h"
#include "sources/preset/accessor_follower.h"

namespace labelscope::accessor {
namespace {

class X86Follower : private Follower {
 public:
  using Follower::Follower;

  Result<Accessor> follow() {
    registers_[kRdi] = Way{Way::Base::kArgument};
    for (std::size_t i = 0; i < kMostInstructions; ++i) {
      bool ends = false;
      if (Status step = step_one(ends); !step) return std::move(step).error();
      if (ends) return finish(registers_[kRax]);
    }
    return refuse("it is longer than " + std::to_string(kMostInstructions) + " instructions");
  }

 private:
  static constexpr unsigned kRax = 0, kRsp = 4, kRbp = 5, kRdi = 7;

  struct Prefixes {
    bool wide = false;                      // REX.W
    bool fs = false;                        // the thread pointer is the base
    bool operand = false;                   // 66
    bool repeat = false;                    // f3
    unsigned reg = 0, index = 0, base = 0;  // what REX adds to the numbers of registers
  };
  // The second operand of an instruction, as its ModRM byte says.
  struct Operand {
    unsigned reg = 0;
    bool is_register = false;
    unsigned number = 0;      // the register, or that of the address
    bool absolute = false;    // no register
    std::int64_t offset = 0;  // or the address, if it is absolute or relative to rip
    bool relative = false;    // to rip
  };

  std::optional<std::uint8_t> byte() {
    const auto value = peek<std::uint8_t>(at_);
    at_ += value ? 1 : 0;
    return value;
  }

  Prefixes prefixes() {
    Prefixes seen;
    for (;;) {
      const auto next = peek<std::uint8_t>(at_);
      if (!next) return seen;
      if (*next == 0x66) {
        seen.operand = true;
      } else if (*next == 0x64) {
        seen.fs = true;
      } else if (*next == 0xf3) {
        seen.repeat = true;
      } else if (*next >= 0x40 && *next <= 0x4f) {
        ++at_;
        seen.wide = (*next & 8) != 0;
        seen.reg = (*next & 4) != 0 ? 8 : 0;
        seen.index = (*next & 2) != 0 ? 8 : 0;
        seen.base = (*next & 1) != 0 ? 8 : 0;
        return seen;
      } else {
        return seen;
      }
      ++at_;
    }
  }

  Result<Operand> operand(const Prefixes& prefixes) {
    const auto short_code = refuse("its code ends too early");
    const auto modrm = byte();
    if (!modrm) return short_code;
    Operand made;
    const unsigned mode = *modrm >> 6;
    made.reg = ((*modrm >> 3) & 7U) + prefixes.reg;
    made.number = (*modrm & 7U) + prefixes.base;
    if (mode == 3) {
      made.is_register = true;
      return made;
    }
    bool no_base = false;
    if ((*modrm & 7U) == 4) {  // a SIB byte
      const auto sib = byte();
      if (!sib) return short_code;
      if (((*sib >> 3) & 7U) != 4 || prefixes.index != 0) return refuse("it uses an index");
      made.number = (*sib & 7U) + prefixes.base;
      no_base = mode == 0 && (*sib & 7U) == 5;
    }
    if (mode == 0 && (*modrm & 7U) == 5) made.relative = true;
    made.absolute = no_base || made.relative;
    if (mode == 1) {
      const auto offset = peek<std::int8_t>(at_);
      if (!offset) return short_code;
      made.offset = std::int64_t{*offset};
      at_ += 1;
    } else if (mode == 2 || made.absolute) {
      const auto offset = peek<std::int32_t>(at_);
      if (!offset) return short_code;
      made.offset = *offset;
      at_ += 4;
    }
    if (made.relative) {
      made.offset = sum(made.offset, static_cast<std::int64_t>(address_ + at_));
    }
    return made;
  }

  // What lies at the operand: the way without its offset.
  Register base_of(const Operand& from, const Prefixes& prefixes) const {
    if (prefixes.fs && from.absolute && !from.relative) return Way{Way::Base::kThread};
    if (prefixes.fs) {
      // mov rax, fs:[rax]: the register has an offset from the thread pointer.
      const Register& offset = registers_[from.number];
      if (from.absolute || !offset || offset->base != Way::Base::kNumber) return std::nullopt;
      return Way{Way::Base::kThread, offset->offsets};
    }
    if (from.relative) return Way{Way::Base::kAddress};
    return from.absolute ? Register(Way{Way::Base::kNumber}) : registers_[from.number];
  }

  Status load_into(const Operand& from, const Prefixes& prefixes, unsigned size) {
    if (from.is_register) {
      if (size != 8) return refuse("it calculates with a number");
      registers_[from.reg] = registers_[from.number];
      return {};
    }
    const Register base = base_of(from, prefixes);
    // The first word of the thread's block is the thread pointer itself.
    if (prefixes.fs && base && base->base == Way::Base::kThread && base->offsets[0] == 0 &&
        from.offset == 0 && size == 8) {
      registers_[from.reg] = base;
      return {};
    }
    return load(registers_[from.reg], base, from.offset, size);
  }

  Status step_one(bool& ends) {
    const Prefixes seen = prefixes();
    const auto opcode = byte();
    if (!opcode) return refuse("its code ends too early");
    switch (*opcode) {
      case 0x55:  // push rbp
      case 0x5d:  // pop rbp
      case 0x90:  // nop
      case 0xc9:  // leave
        return {};
      case 0xc3:
        ends = true;
        return {};
      case 0x8b: {
        const auto from = operand(seen);
        if (!from) return from.error();
        return load_into(*from, seen, seen.wide ? 8 : seen.operand ? 2 : 4);
      }
      case 0x8d: {
        const auto from = operand(seen);
        if (!from) return from.error();
        if (!seen.wide || seen.fs) return refuse("it calculates with a number");
        const Register base = base_of(*from, {});
        return add(registers_[from->reg], base, from->offset);
      }
      case 0x89: {
        const auto to = operand(seen);
        if (!to) return to.error();
        if (!to->is_register) return refuse("it writes to memory");
        if (!seen.wide) return refuse("it calculates with a number");
        if (to->number != kRbp) registers_[to->number] = registers_[to->reg];
        return {};
      }
      case 0xc7: {  // mov rax, number: an offset from the thread pointer
        const auto to = operand(seen);
        if (!to) return to.error();
        if (!to->is_register) return refuse("it writes to memory");
        const auto value = peek<std::int32_t>(at_);
        if (!value || !seen.wide) return refuse("it returns a constant");
        at_ += 4;
        registers_[to->number] = Way{Way::Base::kNumber, {*value}};
        return {};
      }
      case 0x83:
      case 0x81:
        return add_number(*opcode, seen);
      case 0x85:
        return test_null(seen);
      case 0x31:
      case 0x33:
        return refuse("it returns a constant");
      case 0x0f:
        return step_two(seen);
      default:
        return refuse(what_it_does(*opcode));
    }
  }

  Status add_number(std::uint8_t opcode, const Prefixes& seen) {
    const auto to = operand(seen);
    if (!to) return to.error();
    std::optional<std::int64_t> value;
    if (opcode == 0x83) {
      value = peek<std::int8_t>(at_);
      at_ += 1;
    } else {
      value = peek<std::int32_t>(at_);
      at_ += 4;
    }
    const unsigned which = to->reg & 7U;
    if (which == 7) return refuse("it compares");
    if (!to->is_register) return refuse("it writes to memory");
    if (!seen.wide || !value || (which != 0 && which != 5))
      return refuse("it calculates with a number");
    // The stack pointer moves for a frame, in which nothing is kept.
    if (to->number == kRsp) return {};
    return add(registers_[to->number], registers_[to->number], which == 5 ? -*value : *value);
  }

  // test rax, rax; je to where null is returned. What follows is for a pointer that is not null.
  Status test_null(const Prefixes& seen) {
    const auto both = operand(seen);
    if (!both) return both.error();
    const auto jump = byte();
    const auto distance = peek<std::int8_t>(at_);
    if (!both->is_register || both->number != both->reg || !seen.wide || jump != 0x74 ||
        !distance) {
      return refuse("it compares");
    }
    at_ += 1;
    const std::int64_t target = static_cast<std::int64_t>(at_) + *distance;
    if (target < 0 || !returns_null(static_cast<std::size_t>(target), both->number)) {
      return refuse("it branches");
    }
    return {};
  }

  bool returns_null(std::size_t at, unsigned null_register) const {
    bool null = null_register == kRax;
    for (int i = 0; i < 4; ++i) {
      const unsigned opcode = peek<std::uint8_t>(at++).value_or(0);
      if (opcode == 0xc3) return null;
      if (opcode == 0x5d || opcode == 0xc9 || opcode == 0xf3) continue;
      if (opcode != 0x31 || peek<std::uint8_t>(at++) != 0xc0) return false;
      null = true;
    }
    return false;
  }

  Status step_two(const Prefixes& seen) {
    const auto opcode = byte();
    if (!opcode) return refuse("its code ends too early");
    if (*opcode == 0x1e && seen.repeat) {  // endbr64
      at_ += 1;
      return {};
    }
    if (*opcode == 0x1f) {  // a nop of several bytes
      const auto ignored = operand(seen);
      return ignored ? Status() : Status(ignored.error());
    }
    if (*opcode == 0xb6 || *opcode == 0xb7) {
      const auto from = operand(seen);
      if (!from) return from.error();
      if (from->is_register) return refuse("it calculates with a number");
      return load_into(*from, seen, *opcode == 0xb6 ? 1 : 2);
    }
    if (*opcode >= 0x80 && *opcode <= 0x8f) return refuse("it branches");
    return refuse("it has an instruction 0f " + hex(*opcode) + ", which no accessor needs");
  }

  static std::string what_it_does(std::uint8_t opcode) {
    if (opcode == 0xe8 || opcode == 0xff) return "it calls another function";
    if (opcode == 0xe9 || opcode == 0xeb) return "it continues in another function";
    if (opcode >= 0x70 && opcode <= 0x7f) return "it branches";
    if ((opcode & 0xf8) == 0x38 || opcode == 0x80 || opcode == 0x84) return "it compares";
    if (opcode == 0x88 || opcode == 0xc6) return "it writes to memory";
    if ((opcode & 0xf8) == 0x50 || (opcode & 0xf8) == 0x58) return "it saves registers";
    if ((opcode & 0xf8) == 0xb8) return "it returns a constant";
    return "it has an instruction " + hex(opcode) + ", which no accessor needs";
  }

  std::array<Register, 16> registers_{};
};

}  // namespace

Result<Accessor> follow_x86(std::span<const std::byte> code, std::uint64_t address) {
  return X86Follower(code, address).follow();
}

}  // namespace labelscope::accessor
