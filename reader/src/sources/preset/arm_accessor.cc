// Accessors of aarch64: the argument is in x0, and so is the result.
#include <array>
#include <optional>
#include <string>

#include "base/text.h"
#include "sources/preset/accessor_follower.h"

namespace labelscope::accessor {
namespace {

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

Result<Accessor> follow_arm(std::span<const std::byte> code, std::uint64_t address) {
  return ArmFollower(code, address).follow();
}

}  // namespace labelscope::accessor
