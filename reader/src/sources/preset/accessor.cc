// This follows the code of an accessor, with what is known of each register as a Way: the way to
// its value from the argument, from a fixed address or from the thread pointer.
#include "sources/preset/accessor.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "base/text.h"

namespace labelscope {
namespace {

constexpr std::size_t kMostInstructions = 20;
constexpr std::size_t kMostLoads = 5;

// The value of a register: base + offsets[0], and for each other offset the word there + offset.
struct Way {
  enum class Base { kNumber, kArgument, kAddress, kThread };
  Base base{};
  std::vector<std::int64_t> offsets{0};
  unsigned size = 8;  // bytes of the last load

  bool is_pointer() const { return base != Base::kNumber || offsets.size() > 1; }
  std::int64_t& last() { return offsets.back(); }
};
using Register = std::optional<Way>;

Error refuse(std::string what) { return {ErrorCode::kUnsupported, std::move(what)}; }

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// What both processors do alike.
class Follower {
 public:
  Follower(std::span<const std::byte> code, std::uint64_t address)
      : code_(code), address_(address) {}

 protected:
  template <class T>
  std::optional<T> peek(std::size_t at) const {
    if (at > code_.size() || code_.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, code_.data() + at, sizeof value);
    return value;
  }

  Status load(Register& to, const Register& from, std::int64_t offset, unsigned size) {
    if (!from) return refuse("it uses a register that it has not set");
    if (!from->is_pointer() || from->size != 8) return refuse("it follows a number as a pointer");
    Way way = *from;
    way.last() = sum(way.last(), offset);
    way.offsets.push_back(0);
    way.size = size;
    if (way.offsets.size() > kMostLoads) return refuse("it follows too many pointers");
    to = std::move(way);
    return {};
  }

  static Status add(Register& to, const Register& from, std::int64_t offset) {
    if (!from) return refuse("it uses a register that it has not set");
    if (from->size != 8) return refuse("it calculates with a number");
    Way way = *from;
    way.last() = sum(way.last(), offset);
    to = std::move(way);
    return {};
  }

  static Register address(std::uint64_t value) {
    return Way{Way::Base::kAddress, {static_cast<std::int64_t>(value)}};
  }

  static Result<Accessor> finish(const Register& result) {
    if (!result) return refuse("it returns nothing that it has read");
    if (!result->is_pointer()) return refuse("it returns a constant");
    Accessor made;
    made.base = result->base == Way::Base::kArgument  ? Accessor::Base::kArgument
                : result->base == Way::Base::kAddress ? Accessor::Base::kAddress
                                                      : Accessor::Base::kThread;
    made.offsets = result->offsets;
    made.size = result->size;
    // A load comes last, or else something was added to a pointer.
    made.returns_place = made.offsets.size() == 1 || made.offsets.back() != 0;
    if (!made.returns_place) made.offsets.pop_back();
    if (made.returns_place && made.size != 8) return refuse("it calculates with a number");
    return made;
  }

  std::span<const std::byte> code_;
  std::uint64_t address_;
  std::size_t at_ = 0;
};

// x86-64: the argument is in rdi, the result in rax.
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

// aarch64: the argument is in x0, and so is the result.
class ArmFollower : private Follower {
 public:
  using Follower::Follower;

  Result<Accessor> follow() {
    registers_[0] = Way{Way::Base::kArgument};
    for (std::size_t i = 0; i < kMostInstructions; ++i) {
      const auto word = peek<std::uint32_t>(at_);
      if (!word) return refuse("its code ends too early");
      if (*word == kRet) return finish(registers_[0]);
      if (Status step = step_one(*word); !step) return std::move(step).error();
      at_ += 4;
    }
    return refuse("it is longer than " + std::to_string(kMostInstructions) + " instructions");
  }

 private:
  static constexpr std::uint32_t kRet = 0xd65f03c0;

  // Frames, hints (bti, paciasp, nop): they do not change what is returned.
  static bool is_frame(std::uint32_t word) {
    return (word & 0xfffff01f) == 0xd503201f ||  // hints
           (word & 0xffc07fff) == 0xa9807bfd ||  // stp x29, x30, [sp, #-N]!
           (word & 0xffc07fff) == 0xa8c07bfd ||  // ldp x29, x30, [sp], #N
           word == 0x910003fd;                   // mov x29, sp
  }

  Register& at(std::uint32_t number) { return registers_[number & 31U]; }

  Status step_one(std::uint32_t word) {
    const std::uint32_t to = word & 31U;
    const std::uint32_t from = word >> 5 & 31U;
    if (is_frame(word)) return {};
    // Register 31 is the stack pointer or zero, of which nothing is known.
    if ((word & 0xffffffe0) == 0xd53bd040) {  // mrs x, tpidr_el0
      at(to) = Way{Way::Base::kThread};
      return to == 31 ? refuse("it uses the stack") : Status();
    }
    if ((word & 0xffe0ffe0) == 0xaa0003e0) {  // mov x, x
      at(to) = at(word >> 16);
      return {};
    }
    if ((word & 0xff800000) == 0x91000000) {  // add x, x, #N{, lsl #12}
      const std::int64_t number = word >> 10 & 0xfffU;
      return add(at(to), at(from), (word >> 22 & 1U) != 0 ? number << 12 : number);
    }
    if ((word & 0xffe0fc00) == 0x8b000000) {
      const auto sum = add_registers(word);
      if (!sum) return sum.error();
      return add(at(to), sum->pointer, sum->number);
    }
    if ((word & 0xbfe0fc00) == 0xb8606800) {  // ldr x, [x, x], as of a thread-local variable
      const auto sum = add_registers(word);
      if (!sum) return sum.error();
      return load(at(to), sum->pointer, sum->number, (word >> 30 & 1U) != 0 ? 8 : 4);
    }
    if ((word & 0x9f000000) == 0x90000000) {  // adrp
      const std::uint64_t low = word >> 29 & 3U;
      const std::uint64_t high = word >> 5 & 0x7ffffU;
      const auto pages = static_cast<std::int64_t>((high << 2 | low) << 43) >> 43;
      at(to) = address(((address_ + at_) & ~std::uint64_t{0xfff}) +
                       static_cast<std::uint64_t>(pages) * 4096);
      return {};
    }
    if ((word & 0xff800000) == 0xd2800000 || (word & 0xff800000) == 0xf2800000)
      return move_wide(word);
    const std::uint32_t kind = word & 0xffc00000;
    const std::int64_t scaled = word >> 10 & 0xfffU;
    if (kind == 0xf9400000) return load(at(to), at(from), scaled * 8, 8);
    if (kind == 0xb9400000) return load(at(to), at(from), scaled * 4, 4);
    if (kind == 0x79400000) return load(at(to), at(from), scaled * 2, 2);
    if (kind == 0x39400000) return load(at(to), at(from), scaled, 1);
    if ((word & 0xffe00c00) == 0xf8400000) {  // ldur x
      const auto offset = static_cast<std::int32_t>(word << 11) >> 23;
      return load(at(to), at(from), offset, 8);
    }
    if ((word & 0xff000000) == 0xb4000000) return test_null(word);
    return refuse(what_it_does(word));
  }

  // A pointer in one register and a number in the other one, in either order.
  struct Sum {
    Register pointer;
    std::int64_t number;
  };
  Result<Sum> add_registers(std::uint32_t word) {
    Register a = at(word >> 5);
    Register b = at(word >> 16);
    if (!a || !b) return refuse("it uses a register that it has not set");
    if (a->base == Way::Base::kNumber) std::swap(a, b);
    if (b->base != Way::Base::kNumber) return refuse("it adds two pointers");
    return Sum{a, b->offsets[0]};
  }

  // movz sets a number, movk one of its parts.
  Status move_wide(std::uint32_t word) {
    const unsigned shift = (word >> 21 & 3U) * 16;
    const std::uint64_t part = std::uint64_t{word >> 5 & 0xffffU} << shift;
    Register& to = at(word);
    if ((word & 0xff800000) == 0xd2800000) {
      to = Way{Way::Base::kNumber, {static_cast<std::int64_t>(part)}};
      return {};
    }
    if (!to || to->base != Way::Base::kNumber) return refuse("it calculates with a number");
    const std::uint64_t others =
        static_cast<std::uint64_t>(to->offsets[0]) & ~(std::uint64_t{0xffff} << shift);
    to->offsets[0] = static_cast<std::int64_t>(others | part);
    return {};
  }

  // cbz x, to where null is returned
  Status test_null(std::uint32_t word) {
    const auto distance = static_cast<std::int32_t>(word << 8) >> 13;
    const std::int64_t target = static_cast<std::int64_t>(at_) + std::int64_t{distance} * 4;
    bool null = (word & 31U) == 0;
    for (int i = 0; target >= 0 && i < 4; ++i) {
      const auto next =
          peek<std::uint32_t>(static_cast<std::size_t>(target) + 4 * static_cast<std::size_t>(i));
      if (!next) break;
      if (*next == kRet && null) return {};
      if (*next == 0xd2800000 || *next == 0x52800000) {
        null = true;
      } else if (!is_frame(*next)) {
        break;
      }
    }
    return refuse("it branches");
  }

  static std::string what_it_does(std::uint32_t word) {
    if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000) {
      return "it calls another function";
    }
    if ((word & 0xfc000000) == 0x14000000 || (word & 0xfffffc1f) == 0xd61f0000) {
      return "it continues in another function";
    }
    if ((word & 0x7e000000) == 0x34000000 || (word & 0xff000000) == 0x54000000 ||
        (word & 0x7e000000) == 0x36000000) {
      return "it branches";
    }
    if ((word & 0x7f000000) == 0x71000000 || (word & 0x7f200000) == 0x6b000000)
      return "it compares";
    if ((word & 0x3b400000) == 0x39000000) return "it writes to memory";
    return "it has an instruction " + hex(word) + ", which no accessor needs";
  }

  std::array<Register, 32> registers_{};
};

}  // namespace

Result<Accessor> decode_accessor(Machine machine, std::span<const std::byte> code,
                                 std::uint64_t address) {
  const auto looked_at = code.first(std::min(code.size(), kAccessorBytes));
  return machine == Machine::kX86_64 ? X86Follower(looked_at, address).follow()
                                     : ArmFollower(looked_at, address).follow();
}

}  // namespace labelscope
