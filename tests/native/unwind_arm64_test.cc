// The step of the unwinder on aarch64, as far as it differs from that on x86-64.
#include <cstdint>
#include <vector>

#include "native/unwind_program.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

TEST_CASE("unwind step: aarch64, a leaf with its caller in the link register, signed addresses") {
  constexpr std::uint64_t kSignature = 0x2a5ULL << 48;
  const ls_unwind_rule leaf{LS_CFA_SP, LS_RA_REGISTER, LS_FP_SAME, 0, 0, 0, 30};
  const ls_unwind_rule pair{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, 32, -32, -24};
  Program program(true);
  const ls_unwind_rule large_leaf{LS_CFA_SP, LS_RA_REGISTER, LS_FP_SAME, 0, 16, 0, 30};
  program.rows({{0, leaf}, {0x80, large_leaf}, {0x100, pair}, {0x200, kRoot}});
  program.start.code_mask = (1ULL << 48) - 1;
  program.start.registers[30] = (kText + 0x110) | kSignature;
  program.push(kStack, {kStack + 0x100, (kText + 0x210) | kSignature});
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4, kText + 0x110, kText + 0x210});
  CHECK(stack.end == LS_STACK_ROOT);
  SECTION("which no caller has") {
    program.start.registers[30] = kText + 0x90;
    CHECK(program.unwind(kText + 4).end == LS_STACK_UNSUPPORTED);
    program.start.registers[30] = kText + 0x10;
    CHECK(program.unwind(kText + 4).end == LS_STACK_NOT_GROWING);
  }
}

TEST_CASE("unwind step: aarch64, behind a frame without a table the stack pointer is not known") {
  const ls_unwind_rule pair{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, 32, -32, -24};
  Program program(true);
  program.rows({{0, of_kind(LS_CFA_GAP_FP)}, {0x100, pair}, {0x200, kRoot}});
  program.memory.map(kText, 0x1000);
  program.start.code_mask = ~0ULL;
  program.start.fp = kStack + 0x40;
  // 64 bytes lie between the record and the caller's frame, whose own record is at 0xa0.
  program.push(kStack + 0x40, {kStack + 0xa0, kText + 0x110});
  program.push(kStack + 0xa0, {0, kText + 0x210});
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4, kText + 0x110, kText + 0x210});
  CHECK(stack.fp_frames == 2);
  CHECK(stack.end == LS_STACK_ROOT);
}

// As CPython's code between a function of Python and its caller is: callers further up need it.
TEST_CASE("unwind step: aarch64, code in front of its return shows the stack pointer") {
  const ls_unwind_rule pair{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, 32, -32, -24};
  // It has its frame pointer's record above what it reserves, so only sp leads on.
  const ls_unwind_rule no_record{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_SAME, 0, 48, 0, -8};
  constexpr Address kCopy = kText + (1 << 20);
  Program program(true);
  program.rows({{0, pair}, {0x100, no_record}, {0x200, kRoot}});
  program.map(kCopy, kCopy + 0x1000, LS_UNWIND_NO_FILE);
  // stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], #16; ret
  program.memory.put(kCopy, 0x910003fda9bf7bfdULL);
  program.memory.put(kCopy + 8, 0xa8c17bfdd63f0060ULL);
  program.memory.put(kCopy + 16, 0xd65f03c0U);
  program.start.code_mask = ~0ULL;
  program.push(kStack, {kStack + 32, kCopy + 12, 0, 0, 0x77, kText + 0x110});
  program.push(kStack + 48 + 40, {kText + 0x210});
  const native_stack called = program.unwind(kText + 4);
  CHECK(frames_of(called) == Frames{kText + 4, kCopy + 12, kText + 0x110, kText + 0x210});
  CHECK(called.end == LS_STACK_ROOT);
  CHECK(called.fp_frames == 0);
  SECTION("also where it was lost on the way") {
    program.map(kCopy + 0x2000, kCopy + 0x3000, LS_UNWIND_NO_FILE);
    program.memory.map(kCopy + 0x2000, 0x1000);
    program.start.fp = kStack;
    const native_stack found = program.unwind(kCopy + 0x2000);
    CHECK(frames_of(found) ==
          Frames{kCopy + 0x2000, kCopy + 12, kText + 0x110, kText + 0x210});
    CHECK(found.fp_frames == 1);
  }
}

TEST_CASE("unwind step: aarch64, through a signal handler") {
  Program program(true);
  program.rows({{0, of_kind(LS_CFA_SIGNAL)}, {0x100, kRoot}});
  program.start.code_mask = ~0ULL;
  std::vector<std::uint64_t> saved(34);
  saved[31] = kStack + 0x1000;
  saved[32] = kText + 0x100;
  saved[33] = 0x6000'0000;  // flags of user mode
  program.push(kStack + 128 + 184, saved);
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4, kText + 0x100});
  CHECK(stack.end == LS_STACK_ROOT);
}
