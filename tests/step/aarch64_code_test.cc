// Tests the decoder on instruction words. The assembler's text stands beside each.
#include "cli/step/aarch64_code.h"

#include <cstring>

#include "support/catch.h"

using labelscope::Address;
using labelscope::cli::Flow;
using labelscope::cli::VariableReferences;
using namespace labelscope::cli::aarch64;

namespace {

constexpr Address kStart = 0x10000;

std::vector<Address> exits(const std::vector<std::uint32_t>& words) {
  return exits_of_exclusive_sequence(kStart, std::as_bytes(std::span(words)));
}

bool begins(const std::vector<std::uint32_t>& words, const VariableReferences& wanted) {
  return may_begin_reference(words.front()) && begins_reference(kStart, words, wanted);
}

VariableReferences offset(std::int64_t offset) { return {{offset}, {}}; }
VariableReferences slot(Address slot) { return {{}, {slot}}; }

}  // namespace

TEST_CASE("aarch64_code: calls, returns and jumps, with and without authentication") {
  const std::vector<std::pair<std::uint32_t, Flow>> known{
      {0x94000002, Flow::kCall},           // bl .+8
      {0xd63f0020, Flow::kCall},           // blr x1
      {0xd73f0822, Flow::kCall},           // blraa x1, x2
      {0xd63f083f, Flow::kCall},           // blraaz x1
      {0xd73f0c22, Flow::kCall},           // blrab x1, x2
      {0xd61f0020, Flow::kJump},           // br x1
      {0xd71f0822, Flow::kJump},           // braa x1, x2
      {0xd65f03c0, Flow::kReturn},         // ret
      {0xd65f0060, Flow::kReturn},         // ret x3
      {0xd65f0bff, Flow::kReturn},         // retaa
      {0xd65f0fff, Flow::kReturn},         // retab
      {0x14000002, Flow::kJump},           // b .+8
      {0x54000041, Flow::kJump},           // b.ne .+8
      {0xb4000041, Flow::kJump},           // cbz x1, .+8
      {0x35000041, Flow::kJump},           // cbnz w1, .+8
      {0x36180041, Flow::kJump},           // tbz w1, #3, .+8
      {0xb747ffc1, Flow::kJump},           // tbnz x1, #40, .-8
      {0xd4000001, Flow::kSystemCall},     // svc #0
      {0xd4200000, Flow::kTrap},           // brk #0
      {0xd4207d00, Flow::kTrap},           // brk #1000: __builtin_trap()
      {0xd4400000, Flow::kNext},           // hlt #0
      {0xd503245f, Flow::kNext},           // bti c
      {0xf9000900, Flow::kNext},           // str x0, [x8, #16]
      {0xc85ffc20, Flow::kExclusiveLoad},  // ldaxr x0, [x1]
      {0xc803fc24, Flow::kNext},           // stlxr w3, x4, [x1]
      {0xc8dffc20, Flow::kNext},           // ldar x0, [x1]
  };
  for (const auto& [word, flow] : known) {
    INFO(std::hex << word);
    CHECK(flow_of(word) == flow);
  }
}

TEST_CASE("aarch64_code: an exclusive sequence is left behind its store, or by a jump out of it") {
  // 1: ldaxr x0, [x1]; cmp x0, x2; b.ne 2f; stlxr w3, x4, [x1]; cbnz w3, 1b; 2:
  CHECK(exits({0xc85ffc20, 0xeb02001f, 0x54000061, 0xc803fc24, 0x35ffff83}) ==
        std::vector<Address>{kStart + 16, kStart + 20});
  // ldxr w0, [x1]; add w0, w0, #1; stxr w3, w0, [x1]
  CHECK(exits({0x885f7c20, 0x11000400, 0x88037c20}) == std::vector<Address>{kStart + 12});
  // ldaxp x0, x2, [x1]; stxp w3, x4, x5, [x1]
  CHECK(exits({0xc87f8820, 0xc8231424}) == std::vector<Address>{kStart + 8});
}

TEST_CASE("aarch64_code: a sequence that waits at its beginning is not left there") {
  // 1: ldaxr w0, [x1]; cbnz w0, 1b; stxr w3, w4, [x1]
  CHECK(exits({0x885ffc20, 0x35ffffe0, 0x88037c24}) == std::vector<Address>{kStart + 12});
}

TEST_CASE("aarch64_code: a jump within a sequence does not leave it") {
  // ldxr w0, [x1]; tbz w0, #3, 1f; nop; 1: stxr w3, w4, [x1]
  CHECK(exits({0x885f7c20, 0x36180040, 0xd503201f, 0x88037c24}) ==
        std::vector<Address>{kStart + 16});
}

TEST_CASE("aarch64_code: what may lead anywhere ends a sequence") {
  // ldxr w0, [x1]; ret; stxr w3, w4, [x1]
  CHECK(exits({0x885f7c20, 0xd65f03c0, 0x88037c24}) ==
        std::vector<Address>{kStart + 12, kStart + 4});
}

TEST_CASE("aarch64_code: what has no exclusive pair is no sequence") {
  CHECK(exits({}).empty());
  CHECK(exits({0xc8e0fc81, 0xd65f03c0}).empty());              // casal x0, x1, [x4]; ret
  CHECK(exits({0x48207c82, 0x88037c24}).empty());              // casp, which loads no exclusive
                                                               // pair
  CHECK(exits({0xc8dffc20, 0xc803fc24}).empty());              // ldar x0, [x1]
  CHECK(exits({0xc803fc24, 0xd65f03c0}).empty());              // the store alone
  CHECK(exits({0x885f7c20, 0xd503201f, 0xd503201f}).empty());  // a load alone
}

TEST_CASE("aarch64_code: an offset from the thread pointer is a reference") {
  // mrs x8, tpidr_el0; add x8, x8, #0, lsl #12; add x8, x8, #0x10
  const std::vector<std::uint32_t> made{0xd53bd048, 0x91400108, 0x91004108};
  CHECK(begins(made, offset(0x10)));
  CHECK_FALSE(begins(made, offset(0x18)));
  CHECK_FALSE(begins(made, offset(0x1010)));
  // add x8, x8, #1, lsl #12
  CHECK(begins({0xd53bd048, 0x91400508, 0x91004108}, offset(0x1010)));
  CHECK(begins({0xd53bd048, 0x91400108, 0xf9400900}, offset(0x10)));  // ldr x0, [x8, #16]
  CHECK(begins({0xd53bd048, 0xd503201f, 0xf9000900}, offset(0x10)));  // nop; str x0, [x8, #16]
  // Code: movz x1, #0x10, which later code adds to the thread pointer
  CHECK(begins({0xd53bd048, 0xd2800201}, offset(0x10)));
  // This uses another register, or tpidrro_el0, which is not the thread pointer.
  CHECK_FALSE(begins({0xd53bd041, 0xf9000900}, offset(0x10)));
  CHECK_FALSE(begins({0xd53bd068, 0xf9000900}, offset(0x10)));
}

TEST_CASE("aarch64_code: the page of a slot and the rest of its address are a reference") {
  // adrp x0, .; ldr x1, [x0, #0xfd8]
  const std::vector<std::uint32_t> loaded{0x90000000, 0xf947ec01};
  CHECK(begins(loaded, slot(kStart + 0xfd8)));
  CHECK_FALSE(begins(loaded, slot(kStart + 0xfd0)));
  CHECK_FALSE(begins(loaded, slot(kStart + 0x1fd8)));
  CHECK(begins({0x90000000, 0xd503201f, 0x913f6000}, slot(kStart + 0xfd8)));  // add x0, x0, #0xfd8
  // adrp x0, .+0x1000 and .-0x1000
  CHECK(begins({0xb0000000, 0xf947ec01}, slot(kStart + 0x1fd8)));
  CHECK(begins({0xf0ffffe0, 0xf947ec01}, slot(kStart - 0x1000 + 0xfd8)));
  CHECK_FALSE(begins({0x913f6000, 0xf947ec01}, slot(kStart + 0xfd8)));
}
