// Tests the decoder of accessors on code as compilers write it, for both processors, and on code
// that it must refuse.
#include "sources/preset/accessor.h"

#include <cstring>
#include <string>
#include <vector>

#include "support/catch.h"

namespace labelscope::test {
namespace {

constexpr std::uint64_t kAddress = 0x401000;

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> made;
  for (const unsigned value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}
std::vector<std::byte> words(std::initializer_list<std::uint32_t> values) {
  std::vector<std::byte> made(values.size() * 4);
  if (!made.empty()) std::memcpy(made.data(), std::data(values), made.size());
  return made;
}

Accessor decoded(Machine machine, const std::vector<std::byte>& code) {
  auto accessor = decode_accessor(machine, code, kAddress);
  if (!accessor) FAIL(accessor.error().context);
  return *std::move(accessor);
}
std::string refusal(Machine machine, const std::vector<std::byte>& code) {
  const auto accessor = decode_accessor(machine, code, kAddress);
  return accessor ? "accepted" : accessor.error().context;
}

using Offsets = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("accessor: a load from a variable of the file, x86-64") {
  // endbr64; mov eax, [rip+0x10]; ret
  const Accessor got =
      decoded(Machine::kX86_64, bytes({0xf3, 0x0f, 0x1e, 0xfa, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3}));
  CHECK(got.base == Accessor::Base::kAddress);
  CHECK(got.offsets == Offsets{static_cast<std::int64_t>(kAddress) + 10 + 0x10});
  CHECK(got.size == 4);
  CHECK_FALSE(got.returns_place);
}

TEST_CASE("accessor: the thread pointer's block, with a frame and relaxed prefixes, x86-64") {
  // push rbp; mov rbp, rsp; data16 x3 mov rax, fs:0; pop rbp; mov rax, [rax-0x68]; ret
  const Accessor got = decoded(
      Machine::kX86_64, bytes({0x55, 0x48, 0x89, 0xe5, 0x66, 0x66, 0x66, 0x64, 0x48, 0x8b, 0x04,
                               0x25, 0,    0,    0,    0,    0x5d, 0x48, 0x8b, 0x40, 0x98, 0xc3}));
  CHECK(got.base == Accessor::Base::kThread);
  CHECK(got.offsets == Offsets{-0x68});
  CHECK(got.size == 8);
}

TEST_CASE("accessor: the same in one instruction, and by a number in a register, x86-64") {
  // mov rax, fs:-0x68; ret
  const Accessor one = decoded(Machine::kX86_64,
                               bytes({0x64, 0x48, 0x8b, 0x04, 0x25, 0x98, 0xff, 0xff, 0xff, 0xc3}));
  CHECK(one.base == Accessor::Base::kThread);
  CHECK(one.offsets == Offsets{-0x68});
  // mov rax, -0x68; mov rax, fs:[rax]; ret
  const Accessor two =
      decoded(Machine::kX86_64,
              bytes({0x48, 0xc7, 0xc0, 0x98, 0xff, 0xff, 0xff, 0x64, 0x48, 0x8b, 0x00, 0xc3}));
  CHECK(two.base == Accessor::Base::kThread);
  CHECK(two.offsets == Offsets{-0x68});
}

TEST_CASE("accessor: two loads from the argument, with a test for null between, x86-64") {
  // mov rax, [rdi+0x25f8]; test rax, rax; je ret; mov rax, [rax+8]; ret
  const Accessor got =
      decoded(Machine::kX86_64, bytes({0x48, 0x8b, 0x87, 0xf8, 0x25, 0, 0, 0x48, 0x85, 0xc0, 0x74,
                                       0x04, 0x48, 0x8b, 0x40, 0x08, 0xc3}));
  CHECK(got.base == Accessor::Base::kArgument);
  CHECK(got.offsets == Offsets{0x25f8, 8});
  CHECK_FALSE(got.returns_place);
}

TEST_CASE("accessor: an address in the argument, x86-64") {
  // lea rax, [rdi+0xa0]; ret
  const Accessor lea = decoded(Machine::kX86_64, bytes({0x48, 0x8d, 0x87, 0xa0, 0, 0, 0, 0xc3}));
  CHECK(lea.offsets == Offsets{0xa0});
  CHECK(lea.returns_place);
  // mov rax, rdi; add rax, 0x10; ret
  const Accessor add =
      decoded(Machine::kX86_64, bytes({0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, 0x10, 0xc3}));
  CHECK(add.offsets == Offsets{0x10});
  CHECK(add.returns_place);
}

TEST_CASE("accessor: a byte, x86-64") {
  // movzx eax, byte [rdi+3]; ret
  CHECK(decoded(Machine::kX86_64, bytes({0x0f, 0xb6, 0x47, 0x03, 0xc3})).size == 1);
}

TEST_CASE("accessor: aarch64 loads from the thread's block, the argument and a variable") {
  // mrs x0, tpidr_el0; add x0, x0, #0, lsl #12; add x0, x0, #0x10; ldr x0, [x0]; ret
  const Accessor thread =
      decoded(Machine::kAarch64,
              words({0xd503245f, 0xd53bd040, 0x91400000, 0x91004000, 0xf9400000, 0xd65f03c0}));
  CHECK(thread.base == Accessor::Base::kThread);
  CHECK(thread.offsets == Offsets{0x10});
  // The linker makes this of a descriptor: stp; mrs x1, tpidr_el0; mov x29, sp; movz x0, #0;
  // movk x0, #0x10; nop; nop; ldr x0, [x1, x0]; ldp; ret
  const Accessor relaxed = decoded(
      Machine::kAarch64, words({0xa9bf7bfd, 0xd53bd041, 0x910003fd, 0xd2a00000, 0xf2800200,
                                0xd503201f, 0xd503201f, 0xf8606820, 0xa8c17bfd, 0xd65f03c0}));
  CHECK(relaxed.base == Accessor::Base::kThread);
  CHECK(relaxed.offsets == Offsets{0x10});
  CHECK_FALSE(relaxed.returns_place);
  CHECK(relaxed.size == 8);
  // The same with ldr w0, and with a second pointer in place of the number.
  CHECK(decoded(Machine::kAarch64, words({0xd53bd041, 0xd2800200, 0xb8606820, 0xd65f03c0})).size ==
        4);
  CHECK(refusal(Machine::kAarch64, words({0xd53bd041, 0xf8606820, 0xd65f03c0})) ==
        "it adds two pointers");
  // ldr x0, [x0, #0x58]; cbz x0, ret; ldr w0, [x0, #8]; ret
  const Accessor argument =
      decoded(Machine::kAarch64, words({0xf9402c00, 0xb4000040, 0xb9400800, 0xd65f03c0}));
  CHECK(argument.base == Accessor::Base::kArgument);
  CHECK(argument.offsets == Offsets{0x58, 8});
  CHECK(argument.size == 4);
  // adrp x0, this page + 2; ldr w0, [x0, #0x10]; ret
  const Accessor variable = decoded(Machine::kAarch64, words({0xd0000000, 0xb9401000, 0xd65f03c0}));
  CHECK(variable.base == Accessor::Base::kAddress);
  CHECK(variable.offsets == Offsets{0x403010});
  // movz x1, #0x3e68; add x0, x0, x1; ret: an address
  const Accessor place = decoded(Machine::kAarch64, words({0xd287cd01, 0x8b010000, 0xd65f03c0}));
  CHECK(place.offsets == Offsets{0x3e68});
  CHECK(place.returns_place);
}

TEST_CASE("accessor: other code is refused with what it does") {
  const auto x86 = [](std::initializer_list<unsigned> code) {
    return refusal(Machine::kX86_64, bytes(code));
  };
  CHECK(x86({0xe8, 0, 0, 0, 0, 0xc3}) == "it calls another function");
  CHECK(x86({0xff, 0xe0}) == "it calls another function");
  CHECK(x86({0xe9, 0, 0, 0, 0}) == "it continues in another function");
  CHECK(x86({0x83, 0x7f, 0x10, 0x00, 0xc3}) == "it compares");
  CHECK(x86({0x74, 0x00, 0xc3}) == "it branches");
  CHECK(x86({0x48, 0x89, 0x47, 0x10, 0xc3}) == "it writes to memory");
  CHECK(x86({0xc7, 0x47, 0x10, 1, 0, 0, 0, 0xc3}) == "it writes to memory");
  CHECK(x86({0xb8, 1, 0, 0, 0, 0xc3}) == "it returns a constant");
  CHECK(x86({0x31, 0xc0, 0xc3}) == "it returns a constant");
  CHECK(x86({0x48, 0x8b, 0x04, 0xf7, 0xc3}) == "it uses an index");
  CHECK(x86({0xc3}) == "it returns nothing that it has read");
  CHECK(x86({0x48, 0x8b}) == "its code ends too early");
  CHECK(x86({}) == "its code ends too early");
  // A jump behind a test that leads to other code than the return of null.
  CHECK(x86({0x48, 0x8b, 0x07, 0x48, 0x85, 0xc0, 0x74, 0x01, 0xc3, 0xe8}) == "it branches");
  // A number of four bytes is no pointer.
  CHECK(x86({0x8b, 0x07, 0x48, 0x8b, 0x00, 0xc3}) == "it follows a number as a pointer");
  CHECK(refusal(Machine::kX86_64, std::vector<std::byte>(96, std::byte{0x90})) ==
        "it is longer than 20 instructions");

  const auto arm = [](std::initializer_list<std::uint32_t> code) {
    return refusal(Machine::kAarch64, words(code));
  };
  CHECK(arm({0x94000000, 0xd65f03c0}) == "it calls another function");
  CHECK(arm({0x14000000}) == "it continues in another function");
  CHECK(arm({0x71000400, 0xd65f03c0}) == "it compares");
  CHECK(arm({0x54000040, 0xd65f03c0}) == "it branches");
  CHECK(arm({0xf9000001, 0xd65f03c0}) == "it writes to memory");
  CHECK(arm({0xd2800020, 0xd65f03c0}) == "it returns a constant");
  CHECK(arm({}) == "its code ends too early");
}

}  // namespace labelscope::test
