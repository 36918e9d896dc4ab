// Tests a recipe applied to fake memory: the DTVs of both libcs, and every way in which it can
// fail.
#include "labelscope/label.h"
#include "labelscope/observe.h"
#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kThread = 0x7f0000010000;
constexpr Address kDtv = 0x550000002100;
constexpr Address kBlock = 0x550000009000;

ls_tls_recipe tp_recipe(std::int64_t offset) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = offset;
  return recipe;
}

// In glibc on x86-64 the DTV's address is the second word at the thread pointer.
ls_tls_recipe glibc_recipe(std::uint32_t module_id, std::uint64_t generation) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_DTV_SLOT;
  recipe.offset = 0x40;
  recipe.generation = generation;
  recipe.module_id = module_id;
  recipe.dtv_offset = 8;
  recipe.length_offset = -16;
  recipe.entry_size = 16;
  return recipe;
}

// A thread whose DTV has `length` entries and this generation; module 3 has a block.
void put_glibc(FakeMemory& memory, std::uint64_t length, std::uint64_t generation) {
  memory.put(kThread + 8, kDtv);
  memory.put(kDtv - 16, length);
  memory.put(kDtv, generation);
  memory.put(kDtv + Address{3} * 16, kBlock);
}

void check_never_touched(const Located& located) {
  CHECK_FALSE(located.address);
  CHECK(located.outcome == LS_UNLABELLED);
  CHECK(located.flags == LS_NEVER_TOUCHED);
}

void check_unreadable(const Located& located, ls_outcome outcome) {
  CHECK_FALSE(located.address);
  CHECK(outcome_name(located.outcome) == outcome_name(outcome));
  CHECK(located.flags == 0);
}

}  // namespace

TEST_CASE("locate: an offset from the thread pointer needs no memory, below it or above") {
  const FakeMemory memory;
  CHECK(locate(tp_recipe(-40), kThread, memory).address == kThread - 40);
  CHECK(locate(tp_recipe(0x1a8), kThread, memory).address == kThread + 0x1a8);
  CHECK(locate(tp_recipe(0), kThread, memory).address == kThread);
  CHECK(memory.reads() == 0);
}

TEST_CASE("locate: a recipe that is none says which") {
  const FakeMemory memory;
  check_unreadable(locate(ls_tls_recipe{}, kThread, memory), LS_UNREADABLE_NO_RECIPE);
  ls_tls_recipe recipe{};
  recipe.kind = LS_RECIPE_NOT_RELOCATED;
  check_unreadable(locate(recipe, kThread, memory), LS_UNREADABLE_NOT_RELOCATED);
  check_unreadable(locate(recipe, 0, memory), LS_UNREADABLE_NOT_RELOCATED);
  recipe.kind = 77;
  check_unreadable(locate(recipe, kThread, memory), LS_UNREADABLE_NO_RECIPE);
}

TEST_CASE("locate: without a thread pointer nothing is read") {
  const FakeMemory memory;
  check_unreadable(locate(tp_recipe(-8), 0, memory), LS_UNREADABLE_NO_THREAD_POINTER);
  check_unreadable(locate(glibc_recipe(3, 1), 0, memory), LS_UNREADABLE_NO_THREAD_POINTER);
  CHECK(memory.reads() == 0);
}

TEST_CASE("locate: glibc's DTV leads to the block in three reads") {
  FakeMemory memory;
  put_glibc(memory, 64, 7);
  memory.count_from_zero();
  CHECK(locate(glibc_recipe(3, 7), kThread, memory).address == kBlock + 0x40);
  CHECK(memory.reads() == 3);
  CHECK(locate(glibc_recipe(3, 2), kThread, memory).address == kBlock + 0x40);
  ls_tls_recipe below = glibc_recipe(3, 2);
  below.offset = -0x10;
  CHECK(locate(below, kThread, memory).address == kBlock - 0x10);
}

TEST_CASE("locate: glibc on aarch64 has the DTV at the thread pointer itself") {
  FakeMemory memory;
  put_glibc(memory, 64, 7);
  memory.put(kThread, kDtv);
  memory.put(kThread + 8, Address{0});
  ls_tls_recipe recipe = glibc_recipe(3, 7);
  recipe.dtv_offset = 0;
  CHECK(locate(recipe, kThread, memory).address == kBlock + 0x40);
}

TEST_CASE(
    "locate: musl's DTV has 8-byte entries, its length first, no generation, and is found below") {
  FakeMemory memory;
  memory.put(kThread - 8, kDtv);
  memory.put(kDtv, std::uint64_t{3});
  memory.put(kDtv + Address{3} * 8, kBlock);
  ls_tls_recipe recipe{};
  recipe.kind = LS_DTV_SLOT;
  recipe.offset = 8;
  recipe.module_id = 3;
  recipe.dtv_offset = -8;
  recipe.length_offset = 0;
  recipe.entry_size = 8;
  memory.count_from_zero();
  CHECK(locate(recipe, kThread, memory).address == kBlock + 8);
  CHECK(memory.reads() == 3);
  recipe.module_id = 4;
  check_never_touched(locate(recipe, kThread, memory));
}

TEST_CASE("locate: a DTV that is shorter than the module's number was never touched") {
  FakeMemory memory;
  put_glibc(memory, 3, 7);
  CHECK(locate(glibc_recipe(3, 7), kThread, memory).address);
  put_glibc(memory, 2, 7);
  check_never_touched(locate(glibc_recipe(3, 7), kThread, memory));
}

TEST_CASE("locate: a DTV older than the module was never touched, and 0 asks for no age") {
  FakeMemory memory;
  put_glibc(memory, 64, 6);
  check_never_touched(locate(glibc_recipe(3, 7), kThread, memory));
  CHECK(locate(glibc_recipe(3, 0), kThread, memory).address);
}

TEST_CASE("locate: an entry of 0 or -1 has no block yet") {
  FakeMemory memory;
  put_glibc(memory, 64, 7);
  memory.put(kDtv + Address{3} * 16, std::uint64_t{0});
  check_never_touched(locate(glibc_recipe(3, 7), kThread, memory));
  memory.put(kDtv + Address{3} * 16, UINT64_MAX);
  check_never_touched(locate(glibc_recipe(3, 7), kThread, memory));
}

TEST_CASE("locate: a DTV that cannot be read is a bad DTV, wherever the reading ends") {
  FakeMemory memory;
  check_unreadable(locate(glibc_recipe(3, 7), kThread, memory), LS_UNREADABLE_BAD_DTV);
  memory.put(kThread + 8, Address{0});
  check_unreadable(locate(glibc_recipe(3, 7), kThread, memory), LS_UNREADABLE_BAD_DTV);
  memory.put(kThread + 8, kDtv);
  check_unreadable(locate(glibc_recipe(3, 7), kThread, memory), LS_UNREADABLE_BAD_DTV);
  check_unreadable(locate(glibc_recipe(3, 0), kThread, memory), LS_UNREADABLE_BAD_DTV);
  // The head of the DTV can be read; the entry lies behind a hole.
  put_glibc(memory, 5000, 7);
  check_unreadable(locate(glibc_recipe(4000, 7), kThread, memory), LS_UNREADABLE_BAD_DTV);
}

TEST_CASE("locate: a DTV at the start of a page has its length on the page before") {
  FakeMemory memory;
  constexpr Address kAtPage = 0x550000004000;
  memory.put(kThread + 8, kAtPage);
  memory.put(kAtPage, std::uint64_t{7});
  memory.put(kAtPage + Address{3} * 16, kBlock);
  check_unreadable(locate(glibc_recipe(3, 7), kThread, memory), LS_UNREADABLE_BAD_DTV);
  memory.put(kAtPage - 16, std::uint64_t{64});
  CHECK(locate(glibc_recipe(3, 7), kThread, memory).address == kBlock + 0x40);
}

}  // namespace labelscope::test
