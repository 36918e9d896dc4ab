// The unwinder reads the stack in windows (stack_window.h): how often it reads, and that no window
// reaches further than the memory does.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "native/unwind_program.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// A stack that is one piece of memory, as a thread's is. It counts how often it is read.
struct WholeStack {
  explicit WholeStack(std::size_t bytes) : words(bytes / 8) {
    whole_stack = this;
    fake_probe_read_user = read;
  }
  static long read(void* out, __u32 size, __u64 address) {
    WholeStack& self = *whole_stack;
    ++self.reads;
    const std::uint64_t bytes = 8 * self.words.size();
    const std::uint64_t at = address - kStack;
    if (at > bytes || size > bytes - at) return -14;
    std::memcpy(out, reinterpret_cast<const char*>(self.words.data()) + at, size);
    return 0;
  }
  // Each frame has `size` bytes, the last of which are the return address.
  void frames(std::size_t count, std::size_t size, std::uint64_t sp = kStack) {
    for (std::size_t i = 1; i <= count; ++i)
      words[(sp - kStack + i * size) / 8 - 1] = kText + (i == count ? 0x200 : 0x105);
  }

  std::vector<std::uint64_t> words;
  int reads = 0;
  static inline WholeStack* whole_stack = nullptr;
};

}  // namespace

TEST_CASE("unwind step: callers that lie close together are read at once") {
  Program program;
  program.rows({{0, kGap}, {0x100, sp(48)}, {0x1ff, kRoot}});
  WholeStack stack(8192);
  stack.frames(60, 48);
  const native_stack found = program.unwind(kText + 0x110);
  CHECK(found.end == LS_STACK_ROOT);
  CHECK(found.count == 61);
  // 2,880 bytes of one page: three windows of 1,024, and not 60 reads.
  CHECK(stack.reads == 3);
}

TEST_CASE("unwind step: a read takes nothing of the next page, which may be missing") {
  Program program;
  program.rows({{0, kGap}, {0x100, sp(32)}, {0x1ff, kRoot}});
  WholeStack stack(4096);  // nothing is behind it
  program.start.sp = kStack + 4096 - 5 * 32;
  stack.frames(5, 32, program.start.sp);
  const native_stack found = program.unwind(kText + 0x110);
  CHECK(found.end == LS_STACK_ROOT);
  CHECK(found.count == 6);
  CHECK(stack.reads == 1);
}

TEST_CASE("unwind step: a pair on two pages, and words at addresses that are no multiples of 8") {
  Program program;
  program.rows({{0, kGap}, {0x100, sp_with_fp(16)}, {0x1ff, kRoot}});
  WholeStack stack(8192);
  program.start.sp = kStack + 4096 - 8;
  SECTION("on two pages") {}
  SECTION("not aligned") { program.start.sp = kStack + 1012; }
  const std::uint64_t pair[] = {0x1234, kText + 0x200};
  std::memcpy(reinterpret_cast<char*>(stack.words.data()) + (program.start.sp - kStack), pair,
              sizeof(pair));
  const native_stack found = program.unwind(kText + 0x110);
  CHECK(found.end == LS_STACK_ROOT);
  CHECK(frames_of(found) == Frames{kText + 0x110, kText + 0x200});
}

TEST_CASE("unwind step: a frame pointer far below the return address is not what was read last") {
  // The frame has 4 kB, and the window of the return address begins above the frame pointer.
  constexpr ls_unwind_rule kFar{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, 4096, -4000, -8};
  Program program;
  program.rows({{0, kGap}, {0x100, kFar}, {0x180, fp()}, {0x1ff, kRoot}});
  WholeStack stack(12288);
  stack.words[(4096 - 8) / 8] = kText + 0x190;     // return address
  stack.words[(4096 - 4000) / 8] = kStack + 5000;  // frame pointer
  stack.words[5000 / 8] = 0;
  stack.words[5008 / 8] = kText + 0x200;
  const native_stack found = program.unwind(kText + 0x110);
  CHECK(found.end == LS_STACK_ROOT);
  CHECK(frames_of(found) == Frames{kText + 0x110, kText + 0x190, kText + 0x200});
}

TEST_CASE("unwind step: a plain step leads where the general one does, or does nothing") {
  std::mt19937_64 random(20261127);
  const auto one_of = [&](auto... values) {
    const std::array all{values...};
    return all[random() % all.size()];
  };
  std::uint64_t plain_steps = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool arm = random() % 2 != 0;
    Program program(arm);
    std::vector<Row> rows{{0, kGap}};
    for (std::uint64_t offset = 0x100; offset < 0x180; offset += 16) {
      // Most are plain: others end a walk.
      ls_unwind_rule rule = one_of(sp(16), sp(48), sp_with_fp(24), sp_with_fp(64), fp());
      switch (random() % 16) {
        case 0:
          rule.cfa = static_cast<__u8>(one_of(LS_CFA_FP, LS_CFA_GAP_FP));
          break;
        case 1:
          rule.ra = LS_RA_OTHER_STACK;
          break;
        case 2:
          rule.fp = static_cast<__u8>(one_of(LS_FP_LOST, LS_FP_AT_FP));
          break;
        case 3:
          rule.operand = static_cast<__s8>(one_of(LS_RBX_SAME, 3, LS_BY_CODE, LS_ONLY_LIKELY));
          break;
        case 4:
          rule.cfa_offset = one_of(0, -16);
          break;
        case 5:
          rule.fp_offset = rule.ra_offset = one_of(-24, -12, 8);
          break;
      }
      rows.push_back({offset, rule});
    }
    rows.push_back({0x180, kRoot});
    program.rows(rows);
    WholeStack stack(4096);
    for (std::uint64_t& word : stack.words) {
      const std::uint64_t caller = kText + 0x101 + random() % 0x80;
      word = random() % 16 != 0
                 ? caller
                 : one_of(kStack + 8 * (random() % 512), random() % 5000, std::uint64_t{1} << 57);
    }
    program.start.fp = kStack + 8 * (random() % 512);
    program.start.code_mask = (std::uint64_t{1} << 48) - 1;
    plain_steps += program.unwind(kText + 0x100 + random() % 0x80).plain_steps;
  }
  CHECK(plain_steps > 1000);
}
