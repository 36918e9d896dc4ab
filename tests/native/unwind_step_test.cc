// One step from a frame to its caller, on stacks that are made here: each kind of rule, each way to
// end, and the mistakes of other unwinders.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/unwind_program.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// Makes a signal context of x86-64, up to the segments, which is on the stack when a handler
// returns.
std::vector<std::uint64_t> signal_context() {
  std::vector<std::uint64_t> words(5 + 19);
  words[5 + 17] = 0x246;
  words[5 + 18] = 0x2b'0000'0000'0033;
  return words;
}

}  // namespace

TEST_CASE("unwind step: from a leaf through two callers to the root") {
  Program program;
  program.rows({{0, sp(8)}, {0x100, sp(32)}, {0x200, kRoot}});
  program.push(kStack, {kText + 0x150, 0, 0, 0, kText + 0x210});
  const native_stack stack = program.unwind(kText + 0x10);
  CHECK(frames_of(stack) == Frames{kText + 0x10, kText + 0x150, kText + 0x210});
  CHECK(stack.end == LS_STACK_ROOT);
  CHECK(stack.fp_frames == 0);
}

TEST_CASE("unwind step: a call at the end of its function belongs to that function") {
  Program program;
  // The return address is the first byte of the next function, which has another rule.
  program.rows({{0, sp(8)}, {0x100, sp(32)}, {0x180, sp(64)}, {0x200, kRoot}});
  program.push(kStack, {kText + 0x180, 0, 0, 0, kText + 0x210});
  CHECK(program.unwind(kText).end == LS_STACK_ROOT);
  // But code that was interrupted there belongs to that next function.
  program.push(kStack, {0, 0, 0, 0, 0, 0, 0, kText + 0x201});
  const native_stack stack = program.unwind(kText + 0x180);
  CHECK(stack.end == LS_STACK_ROOT);
  CHECK(stack.count == 2);
}

TEST_CASE("unwind step: the frame pointer is restored on the way, and is a base afterwards") {
  Program program;
  program.rows({{0, sp_with_fp(16)}, {0x100, fp()}, {0x200, kRoot}});
  // The leaf has pushed the frame pointer of its caller, and the caller has pushed that of its own.
  program.push(kStack, {kStack + 0x40, kText + 0x110});
  program.push(kStack + 0x40, {0x1111, kText + 0x210});
  program.start.fp = 0xdead;
  CHECK(frames_of(program.unwind(kText + 4)) == Frames{kText + 4, kText + 0x110, kText + 0x210});
}

TEST_CASE("unwind step: the CFA by any register of the interrupted code, and of no other") {
  Program program;
  const ls_unwind_rule by_r11{LS_CFA_REGISTER, LS_RA_AT_CFA, LS_FP_SAME, 11, 8, 0, -8};
  program.rows({{0, by_r11}, {0x100, kRoot}, {0x200, sp(8)}});
  program.start.registers[11] = kStack + 0x80;
  program.push(kStack + 0x80, {kText + 0x110});
  CHECK(program.unwind(kText + 4).end == LS_STACK_ROOT);
  program.push(kStack, {kText + 0x10});
  const native_stack called = program.unwind(kText + 0x210);
  CHECK(called.end == LS_STACK_UNSUPPORTED);
  CHECK(called.count == 2);
}

TEST_CASE("unwind step: a return address in a register (vfork), and the frame pointer with it") {
  Program program;
  const ls_unwind_rule in_rdi{LS_CFA_SP, LS_RA_REGISTER, LS_FP_SAME, 0, 0, 0, 5};
  program.rows({{0, in_rdi}, {0x100, fp()}, {0x200, kRoot}});
  program.start.registers[5] = kText + 0x110;
  program.start.fp = kStack + 0x20;
  program.push(kStack + 0x20, {0, kText + 0x210});
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4, kText + 0x110, kText + 0x210});
  CHECK(stack.end == LS_STACK_ROOT);
}

TEST_CASE("unwind step: an entry of the PLT before and after its push") {
  Program program;
  const ls_unwind_rule plt{LS_CFA_PLT, LS_RA_AT_CFA, LS_FP_SAME, 11, 8, 0, -8};
  program.rows({{0, plt}, {0x100, kRoot}});
  program.push(kStack, {kText + 0x110});
  CHECK(program.unwind(kText + 0x2a).end == LS_STACK_ROOT);
  program.push(kStack, {3, kText + 0x110});
  CHECK(program.unwind(kText + 0x2b).end == LS_STACK_ROOT);
}

TEST_CASE("unwind step: a CFA that lies on the stack") {
  Program program;
  const ls_unwind_rule at_sp{LS_CFA_AT_SP, LS_RA_AT_CFA, LS_FP_SAME, 1, 24, 0, -8};
  const ls_unwind_rule at_fp{LS_CFA_AT_FP, LS_RA_AT_CFA, LS_FP_AT_FP, 0, -40, 0, -8};
  program.rows({{0, at_sp}, {0x100, at_fp}, {0x200, kRoot}});
  program.push(kStack, {0, 0, 0, kStack + 0x100});
  program.push(kStack + 0x100, {kText + 0x110});
  program.start.fp = kStack + 0x200;
  program.push(kStack + 0x200 - 40, {kStack + 0x300});
  program.push(kStack + 0x200, {0x7777});
  program.push(kStack + 0x300 - 8, {kText + 0x210});
  CHECK(program.unwind(kText + 4).end == LS_STACK_ROOT);
}

TEST_CASE("unwind step: through a signal handler, onto another stack and back") {
  constexpr Address kHandlerStack = 0x7fff'0000'0000;  // the stack of sigaltstack, above the
                                                       // thread's own
  Program program;
  program.rows({{0, sp(8)}, {0xff, of_kind(LS_CFA_SIGNAL)}, {0x110, sp(24)}, {0x200, kRoot}});
  program.start.sp = kHandlerStack;
  // The handler returns to the first byte of the signal frame's code.
  program.push(kHandlerStack, {kText + 0x100});
  std::vector<std::uint64_t> context = signal_context();
  context[5 + 15] = kStack;
  context[5 + 16] = kText + 0x110;  // interrupted at a function's first byte: not one before
  program.push(kHandlerStack + 8, context);
  program.push(kStack, {0, 0, kText + 0x210});
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4, kText + 0x100, kText + 0x110, kText + 0x210});
  CHECK(stack.end == LS_STACK_ROOT);
}

TEST_CASE("unwind step: what a signal has interrupted has all its registers") {
  Program program;
  const ls_unwind_rule by_r9{LS_CFA_REGISTER, LS_RA_AT_CFA, LS_FP_SAME, 9, 8, 0, -8};
  program.rows({{0, of_kind(LS_CFA_SIGNAL)}, {0x100, by_r9}, {0x200, kRoot}});
  std::vector<std::uint64_t> context = signal_context();
  context[5 + 1] = kStack + 0x400;  // r9
  context[5 + 15] = kStack + 0x300;
  context[5 + 16] = kText + 0x110;
  program.push(kStack, context);
  program.push(kStack + 0x400, {kText + 0x210});
  CHECK(program.unwind(kText + 4).end == LS_STACK_ROOT);
}

TEST_CASE("unwind step: where no registers lie, no signal has interrupted anything") {
  Program program;
  program.rows({{0, of_kind(LS_CFA_SIGNAL)}, {0x100, kRoot}});
  std::vector<std::uint64_t> context = signal_context();
  context[5 + 16] = kText + 0x110;
  SECTION("flags") { context[5 + 17] = kText; }
  SECTION("code of the kernel") { context[5 + 18] = 0x10; }
  SECTION("an address for a segment") { context[5 + 18] = kStack; }
  program.push(kStack, context);
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4});
  CHECK(stack.end == LS_STACK_BAD_RETURN);
}

TEST_CASE("unwind step: each way to end has its name") {
  Program program;
  const ls_unwind_rule lost{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_LOST, 0, 8, 0, -8};
  program.rows({{0, sp(8)},
                {0x100, kGap},
                {0x200, of_kind(LS_CFA_ENTRY)},
                {0x300, of_kind(LS_CFA_UNSUPPORTED)},
                {0x400, sp(0)},
                {0x500, sp(-64)},
                {0x600, lost},
                {0x700, fp()}});
  program.memory.map(kStack, 4096);
  auto end_after = [&](std::uint64_t return_address) {
    program.push(kStack, {return_address});
    return program.unwind(kText + 4).end;
  };
  CHECK(end_after(kText + 0x110) == LS_STACK_NO_WAY_ON);
  CHECK(end_after(kText + 0x210) == LS_STACK_ENTRY);
  CHECK(end_after(kText + 0x310) == LS_STACK_UNSUPPORTED);
  CHECK(end_after(kText + 0x410) == LS_STACK_NOT_GROWING);
  CHECK(end_after(kText + 0x510) == LS_STACK_NOT_GROWING);
  CHECK(end_after(0) == LS_STACK_BAD_RETURN);
  CHECK(end_after(0xffff'ffff'ff60'0000) == LS_STACK_BAD_RETURN);
  CHECK(end_after(0x1234'5678) == LS_STACK_NO_MAPPING);
  SECTION("a lost frame pointer is no base") {
    program.push(kStack, {kText + 0x610, kText + 0x710});
    CHECK(program.unwind(kText + 4).end == LS_STACK_UNSUPPORTED);
  }
  SECTION("a page that is not in memory") {
    program.start.sp = kStack + 8192;
    CHECK(program.unwind(kText + 4).end == LS_STACK_NOT_RESIDENT);
  }
  SECTION("what leads nowhere is no frame") {
    program.push(kStack, {0x1234'5678});
    CHECK(program.unwind(kText + 4).count == 1);
  }
  SECTION("code that is in no mapping") {
    const native_stack stack = program.unwind(0x4000'0000);
    CHECK(stack.end == LS_STACK_NO_MAPPING);
    CHECK(frames_of(stack) == Frames{0x4000'0000});
  }
  SECTION("a file without a table") {
    program.map(kText + (1 << 20), kText + (2 << 20), LS_UNWIND_NO_TABLE);
    CHECK(end_after(kText + (1 << 20) + 5) == LS_STACK_NO_TABLE);
  }
  SECTION("a list of mappings that has become another's") {
    program.list = 8;
    CHECK(end_after(kText + 0x210) == LS_STACK_NO_MAPPING);
  }
  SECTION("a table that is being replaced") {
    program.modules()[0].rule_count = 0;
    CHECK(end_after(kText + 0x210) == LS_STACK_NO_TABLE);
  }
}

TEST_CASE("unwind step: the last frame that is kept may be the root") {
  const std::size_t depth = GENERATE(511, 512, 513);
  Program program;
  program.rows({{0, sp(8)}, {0x100, kRoot}});
  std::vector<std::uint64_t> words(depth - 2, kText + 0x10);
  words.push_back(kText + 0x110);
  program.push(kStack, words);
  const native_stack stack = program.unwind(kText + 4);
  CHECK(stack.count == std::min<std::size_t>(depth, NATIVE_MAX_FRAMES));
  CHECK(stack.end == (depth > NATIVE_MAX_FRAMES ? LS_STACK_TOO_DEEP : LS_STACK_ROOT));
}

TEST_CASE("unwind step: rules that lead in a circle end") {
  Program program;
  const ls_unwind_rule circle{LS_CFA_AT_SP, LS_RA_AT_CFA, LS_FP_SAME, 0, 0, 0, -8};
  program.rows({{0, circle}});
  program.push(kStack - 8, {kText + 4, kStack});
  const native_stack stack = program.unwind(kText + 4);
  CHECK(stack.end == LS_STACK_NOT_GROWING);
  CHECK(stack.count == 2);
}

TEST_CASE("unwind step: in a gap with frame pointers, along them, and marked") {
  Program program;
  program.rows({{0, of_kind(LS_CFA_GAP_FP)}, {0x1000, sp(24)}, {0x2000, kRoot}});
  program.memory.map(kText, 0x3000);  // without the instruction that is looked for
  program.start.fp = kStack + 0x40;
  program.push(kStack + 0x40, {0, kText + 0x1010, 0, 0, kText + 0x2010});
  SECTION("from the middle of a function") {
    const native_stack stack = program.unwind(kText + 0x10);
    CHECK(frames_of(stack) == Frames{kText + 0x10, kText + 0x1010, kText + 0x2010});
    CHECK(stack.fp_frames == 1);
    CHECK(stack.end == LS_STACK_ROOT);
  }
  SECTION("from its first instruction: its own caller is not in the chain yet") {
    // push %rbp; endbr64; ret; rep ret; bnd ret; ret $16
    const std::uint32_t code =
        GENERATE(0x55U, 0xfa1e0ff3U, 0xc3U, 0x90c3f3U, 0x90c3f2U, 0x900010c2U);
    program.memory.put(kText + 0x10, code);
    program.push(kStack, {kText + 0x100});
    CHECK(frames_of(program.unwind(kText + 0x10)) ==
          Frames{kText + 0x10, kText + 0x100, kText + 0x1010, kText + 0x2010});
  }
  SECTION("from its second") {
    program.memory.put(kText + 0x10, 0xe58948U);
    program.push(kStack, {kStack + 0x40, kText + 0x100});
    program.start.fp = kStack + 0x40;
    CHECK(frames_of(program.unwind(kText + 0x10)) ==
          Frames{kText + 0x10, kText + 0x100, kText + 0x1010, kText + 0x2010});
  }
  SECTION("a chain may go down once, to another stack") {
    program.start.sp = kStack + 0x100;
    CHECK(frames_of(program.unwind(kText + 0x10)) ==
          Frames{kText + 0x10, kText + 0x1010, kText + 0x2010});
  }
  SECTION("a chain that goes down twice ends") {
    program.start.sp = kStack + 0x100;
    program.push(kStack + 0x40, {kStack + 0x20, kText + 0x100});
    CHECK(program.unwind(kText + 0x10).end == LS_STACK_NOT_GROWING);
  }
  SECTION("a chain that ends does not show whether that is the root") {
    program.start.fp = 0;
    CHECK(program.unwind(kText + 0x10).end == LS_STACK_CHAIN_ENDED);
  }
  SECTION("no frame pointers are followed in a gap without them") {
    program.mappings().clear();
    program.rows({{0, kGap}, {0x1000, sp(24)}, {0x2000, kRoot}});
    CHECK(program.unwind(kText + 0x10).end == LS_STACK_NO_WAY_ON);
  }
  SECTION("memory that a program wrote code to") {
    program.map(kText + (1 << 20), kText + (2 << 20), LS_UNWIND_NO_FILE);
    const native_stack stack = program.unwind(kText + (1 << 20) + 0x10);
    CHECK(stack.end == LS_STACK_ROOT);
    CHECK(stack.fp_frames == 1);
    program.start.sp = kStack + 0x100;  // unknown whether it keeps frame pointers
    CHECK(program.unwind(kText + (1 << 20) + 0x10).end == LS_STACK_NOT_GROWING);
  }
}

// CPython has a copy of this code between each function of Python and its caller, in memory without
// a file (Python/asm_trampoline.S). It keeps no frame pointer, and its callers keep none either.
TEST_CASE("unwind step: from every instruction of CPython's code between two functions") {
  constexpr Address kCopy = kText + (1 << 20);
  constexpr std::uint64_t kNoFrame = 0x5555'0123'4560;  // what callers have in their rbp
  Program program;
  program.rows({{0, sp(8)}, {0x1000, sp(24)}, {0x2000, kRoot}});
  program.map(kCopy, kCopy + 0x1000, LS_UNWIND_NO_FILE);
  program.start.fp = kNoFrame;
  program.memory.put(kCopy, 0x48d1ff08ec834890U);   // nop; sub $8, %rsp; call *%rcx; add
  program.memory.put(kCopy + 8, 0x90909090c308c483U);  // $8, %rsp; ret; nops
  const Frames callers{kText + 0x1010, kText + 0x2010};
  const std::vector<std::uint64_t> above{kText + 0x1010, 0, 0, kText + 0x2010};
  const auto expect = [&](Address pc) {
    Frames frames = callers;
    frames.insert(frames.begin(), pc);
    const native_stack stack = program.unwind(pc);
    CHECK(frames_of(stack) == frames);
    CHECK(stack.end == LS_STACK_ROOT);
  };
  SECTION("sub and ret") {
    program.push(kStack, above);
    expect(kCopy + 1);
    expect(kCopy + 11);
  }
  SECTION("call and add") {
    program.push(kStack, {0xdead});
    program.push(kStack + 8, above);
    expect(kCopy + 5);
    expect(kCopy + 7);
  }
  SECTION("as a caller, again and again") {
    std::vector<std::uint64_t> words{kCopy + 7, 0xdead, kText + 0x1010, 0, 0,
                                     kCopy + 7, 0xdead};
    words.insert(words.end(), above.begin(), above.end());
    program.push(kStack, words);
    const native_stack stack = program.unwind(kText + 4);
    CHECK(frames_of(stack) == Frames{kText + 4, kCopy + 7, kText + 0x1010, kCopy + 7,
                                     kText + 0x1010, kText + 0x2010});
    CHECK(stack.end == LS_STACK_ROOT);
    CHECK(stack.fp_frames == 0);  // the code says so, no chain of guesses
  }
  SECTION("other numbers than it reserves are no code of that kind") {
    program.memory.put(kCopy + 10, std::uint8_t{16});
    program.push(kStack, above);
    CHECK(program.unwind(kCopy + 1).count == 1);
  }
  SECTION("a function that pops its caller's frame pointer") {
    program.memory.put(kCopy + 7, std::uint32_t{0x9090c35d});
    program.push(kStack, {kCopy + 7, kNoFrame});
    program.push(kStack + 16, above);
    CHECK(frames_of(program.unwind(kText + 4)) ==
          Frames{kText + 4, kCopy + 7, kText + 0x1010, kText + 0x2010});
  }
}

TEST_CASE("unwind step: every mapping is found, however many there are") {
  const std::size_t count = GENERATE(1, 2, 3, 1000, 16383);
  Program program;
  for (std::size_t i = 0; i < count; ++i) {
    program.map(kText + i * 0x4000, kText + i * 0x4000 + 0x1000, LS_UNWIND_NO_TABLE);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; i += 1 + i / 7) {
    const Address start = kText + i * 0x4000;
    wrong += program.unwind(start).end != LS_STACK_NO_TABLE;
    wrong += program.unwind(start + 0xfff).end != LS_STACK_NO_TABLE;
    wrong += program.unwind(start + 0x1000).end != LS_STACK_NO_MAPPING;
    wrong += program.unwind(start - 1).end != LS_STACK_NO_MAPPING;
  }
  CHECK(wrong == 0);
}

TEST_CASE("unwind step: every row of every page is found") {
  constexpr int kRows = 3000;
  std::vector<Row> rows;
  rows.reserve(kRows);
  for (int i = 0; i < kRows; ++i) {
    rows.push_back(
        {static_cast<std::uint64_t>(i) * 61, i % 2 == 0 ? sp(8) : of_kind(LS_CFA_ENTRY)});
  }
  Program program;
  program.rows(rows, 1 << 18);
  program.push(kStack, {0});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ls_stack_end expected = i % 2 == 0 ? LS_STACK_BAD_RETURN : LS_STACK_ENTRY;
    wrong += program.unwind(kText + rows[i].offset).end != expected;
    wrong += program.unwind(kText + rows[i].offset + 60).end != expected;
  }
  CHECK(wrong == 0);
}

TEST_CASE("unwind step: behind the system call that makes a thread, only its parent has a caller") {
  ls_unwind_rule behind_clone = sp(8);
  behind_clone.cfa = LS_CFA_NEW_THREAD;
  Program program;
  program.rows({{0, behind_clone}, {0x100, kRoot}});
  program.push(kStack, {kText + 0x110});
  program.start.registers[0] = 4321;
  CHECK(frames_of(program.unwind(kText + 4)) == Frames{kText + 4, kText + 0x110});
  program.start.registers[0] = 0;
  CHECK(program.unwind(kText + 4).end == LS_STACK_ENTRY);
  CHECK(frames_of(program.unwind(kText + 4)) == Frames{kText + 4});
}

TEST_CASE("unwind step: a CFA by rbx is found where a called function has saved it") {
  constexpr std::uint64_t kSaved = kStack + 0x100;
  ls_unwind_rule saves = sp(24);
  saves.operand = 2 + LS_RBX_SAME;
  ls_unwind_rule keeps = sp(8);
  keeps.operand = LS_RBX_SAME;
  const ls_unwind_rule by_rbx{LS_CFA_REGISTER, LS_RA_AT_CFA, LS_FP_SAME, 3, 16, 0, -8};
  Program program;
  program.rows({{0, saves}, {0x80, sp(24)}, {0x100, keeps}, {0x200, by_rbx}, {0x300, kRoot}});
  program.push(kStack, {0, kSaved, kText + 0x110, kText + 0x210});
  program.push(kSaved, {0, kText + 0x310});
  const Frames whole{kText + 4, kText + 0x110, kText + 0x210, kText + 0x310};
  CHECK(frames_of(program.unwind(kText + 4)) == whole);
  CHECK(program.unwind(kText + 4).end == LS_STACK_ROOT);
  // The rule of this function does not say where it is.
  CHECK(program.unwind(kText + 0x84).end == LS_STACK_UNSUPPORTED);
  // No function has saved it yet.
  program.start.registers[3] = kSaved;
  program.start.sp = kStack + 24;
  CHECK(program.unwind(kText + 0x104).end == LS_STACK_ROOT);
  // Other registers are not known at all.
  Program other;
  ls_unwind_rule by_r12 = by_rbx;
  by_r12.operand = 12;
  other.rows({{0, saves}, {0x200, by_r12}});
  other.push(kStack, {0, kSaved, kText + 0x210});
  other.start.registers[12] = kSaved;
  CHECK(other.unwind(kText + 4).end == LS_STACK_UNSUPPORTED);
}

TEST_CASE("unwind step: a rule may lead to a stack at lower addresses") {
  constexpr std::uint64_t kLower = kStack - 0x1000;
  ls_unwind_rule switches{LS_CFA_AT_SP, LS_RA_OTHER_STACK, LS_FP_SAME, 1, 0, 0, -8};
  Program program;
  program.rows({{0, switches}, {0x100, sp(8)}, {0x200, kRoot}});
  program.push(kStack, {kLower});
  program.push(kLower, {kText + 0x100, kText + 0x210});
  // The caller is looked up at its own address, the first of its function.
  const native_stack stack = program.unwind(kText + 4);
  CHECK(frames_of(stack) == Frames{kText + 4, kText + 0x101, kText + 0x210});
  CHECK(stack.end == LS_STACK_ROOT);
  switches.ra = LS_RA_AT_CFA;
  program.rows({{0, switches}, {0x100, sp(8)}, {0x200, kRoot}});
  CHECK(program.unwind(kText + 4).end == LS_STACK_NOT_GROWING);
}

TEST_CASE("unwind step: what is only likely is marked, by whatever register the CFA is found") {
  ls_unwind_rule likely{LS_CFA_REGISTER, LS_RA_AT_CFA, LS_FP_SAME, 10, 8, 0, -8};
  Program program;
  program.push(kStack, {kText + 0x110});
  program.start.registers[10] = kStack;
  program.rows({{0, likely}, {0x100, kRoot}});
  CHECK(program.unwind(kText + 4).fp_frames == 0);
  likely.operand |= LS_BY_CODE | LS_ONLY_LIKELY;
  program.rows({{0, likely}, {0x100, kRoot}});
  CHECK(frames_of(program.unwind(kText + 4)) == Frames{kText + 4, kText + 0x110});
  CHECK(program.unwind(kText + 4).fp_frames == 1);
}

TEST_CASE("unwind step: a stack that leaves out a frame is not whole, whatever it reaches") {
  ls_unwind_rule leaves_out = of_kind(LS_CFA_GAP_FP);
  leaves_out.operand = LS_FP_LEAVES_OUT;
  Program program;
  program.rows({{0, leaves_out},
                {0x1000, of_kind(LS_CFA_GAP_FP)},
                {0x2000, kRoot},
                {0x3000, of_kind(LS_CFA_ENTRY)}});
  program.memory.map(kText, 0x4000);
  const auto end_of = [&](std::uint64_t code, std::uint64_t caller) {
    program.push(kStack + 0x40, {0, caller});
    program.start.fp = kStack + 0x40;
    return program.unwind(kText + code).end;
  };
  CHECK(end_of(0x10, kText + 0x2010) == LS_STACK_LEFT_OUT);
  CHECK(end_of(0x10, kText + 0x3010) == LS_STACK_LEFT_OUT);
  CHECK(end_of(0x10, kText + 0x1010) == LS_STACK_LEFT_OUT);  // at a frame pointer of zero
  CHECK(end_of(0x10, 0) == LS_STACK_LEFT_OUT);
  CHECK(end_of(0x1010, kText + 0x2010) == LS_STACK_ROOT);
  CHECK(end_of(0x1010, kText + 0x3010) == LS_STACK_ENTRY);
  CHECK(end_of(0x1010, kText + 0x1020) == LS_STACK_CHAIN_ENDED);
}
