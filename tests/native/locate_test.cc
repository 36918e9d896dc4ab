// labelscope/bpf/locate.bpf.h and labelscope/read_labels.bpf.h: recipes are applied, and several
// publishers become one outcome.
#include "labelscope/observe.h"
#include "native/label_memory.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr Address kTp = 0x5000'0800;
constexpr Address kDtv = 0x6000'0100;
constexpr Address kBlock = 0x6100'0000;

// A recipe of glibc on x86-64.
ls_tls_recipe glibc_recipe() {
  ls_tls_recipe recipe{};
  recipe.kind = LS_DTV_SLOT;
  recipe.offset = 24;
  recipe.generation = 3;
  recipe.module_id = 2;
  recipe.dtv_offset = 8;
  recipe.length_offset = -16;
  recipe.entry_size = 16;
  return recipe;
}

// A recipe of musl on aarch64.
ls_tls_recipe musl_recipe() {
  ls_tls_recipe recipe = glibc_recipe();
  recipe.generation = 0;
  recipe.dtv_offset = -8;
  recipe.length_offset = 0;
  recipe.entry_size = 8;
  return recipe;
}

void put_dtv(FakeMemory& memory, const ls_tls_recipe& recipe) {
  memory.put(kDtv, std::uint64_t{3});  // generation, or musl's length
  memory.put(kTp + static_cast<Address>(std::int64_t{recipe.dtv_offset}), kDtv);
  memory.put(kDtv + static_cast<Address>(std::int64_t{recipe.length_offset}), std::uint64_t{5});
  memory.put(kDtv + Address{recipe.module_id} * recipe.entry_size, kBlock);
}

native_located locate_in(const FakeMemory& memory, const ls_tls_recipe& recipe, Address tp = kTp) {
  NativeReader reader(memory);
  return native_locate(&recipe, tp);
}

ls_tls_recipe tp_recipe(Address variable) {
  ls_tls_recipe recipe{};
  recipe.kind = LS_TP_OFFSET;
  recipe.offset = static_cast<std::int64_t>(variable - kTp);
  return recipe;
}

}  // namespace

TEST_CASE("locate: an offset from the thread pointer takes no read, in both directions") {
  FakeMemory memory;
  REQUIRE(locate_in(memory, tp_recipe(kTp - 152)).address == kTp - 152);
  REQUIRE(locate_in(memory, tp_recipe(kTp + 16)).address == kTp + 16);
  REQUIRE(memory.reads() == 0);
}

TEST_CASE("locate: a variable of the process is at one address, for all threads or for the first") {
  FakeMemory memory;
  ls_tls_recipe recipe{};
  recipe.offset = 0x5555'0000'1234;
  for (const bool first : {true, false}) {
    fake_first_thread = first;
    const ThreadState thread{.first = first};  // no thread pointer is asked for
    recipe.kind = LS_AT_ADDRESS;
    REQUIRE(locate_in(memory, recipe, 0).outcome == LS_LABELLED);
    REQUIRE(locate_in(memory, recipe, 0).address == 0x5555'0000'1234);
    REQUIRE(locate(recipe, thread, memory).address == Address{0x5555'0000'1234});

    recipe.kind = LS_FIRST_THREAD_AT_ADDRESS;
    REQUIRE(locate_in(memory, recipe, 0).outcome == (first ? LS_LABELLED : LS_UNLABELLED));
    REQUIRE(locate(recipe, thread, memory).address.has_value() == first);
    REQUIRE(locate(recipe, thread, memory).outcome == LS_UNLABELLED);
  }
  REQUIRE(memory.reads() == 0);
}

TEST_CASE("locate: a DTV entry leads to its block, in three reads") {
  for (const ls_tls_recipe& recipe : {glibc_recipe(), musl_recipe()}) {
    FakeMemory memory;
    put_dtv(memory, recipe);
    memory.count_from_zero();
    native_located where = locate_in(memory, recipe);
    REQUIRE(where.outcome == LS_LABELLED);
    REQUIRE(where.address == kBlock + 24);
    REQUIRE(memory.reads() == 3);
  }
}

TEST_CASE("locate: a thread without a block has never touched the variable") {
  ls_tls_recipe recipe = glibc_recipe();
  FakeMemory memory;
  put_dtv(memory, recipe);
  SECTION("DTV too short") { memory.put(kDtv - 16, std::uint64_t{1}); }
  SECTION("DTV older than the module") { memory.put(kDtv, std::uint64_t{2}); }
  SECTION("entry 0") { memory.put(kDtv + 32, std::uint64_t{0}); }
  SECTION("entry not allocated") { memory.put(kDtv + 32, ~std::uint64_t{0}); }
  native_located where = locate_in(memory, recipe);
  REQUIRE(where.outcome == LS_UNLABELLED);
  REQUIRE(where.flags == LS_NEVER_TOUCHED);
}

TEST_CASE("locate: a generation of 0 is not checked") {
  ls_tls_recipe recipe = glibc_recipe();
  recipe.generation = 0;
  FakeMemory memory;
  put_dtv(memory, recipe);
  memory.put(kDtv, std::uint64_t{0});
  REQUIRE(locate_in(memory, recipe).address == kBlock + 24);
}

TEST_CASE("locate: a DTV that cannot be read is a reason of its own") {
  ls_tls_recipe recipe = glibc_recipe();
  FakeMemory memory;
  put_dtv(memory, recipe);
  SECTION("thread pointer") { memory.unmap_page(kTp); }
  SECTION("DTV") { memory.unmap_page(kDtv); }
  SECTION("null") { memory.put(kTp + 8, Address{0}); }
  REQUIRE(locate_in(memory, recipe).outcome == LS_UNREADABLE_BAD_DTV);
}

TEST_CASE("locate: recipes that lead nowhere say why") {
  FakeMemory memory;
  ls_tls_recipe recipe{};
  recipe.kind = LS_RECIPE_NONE;
  REQUIRE(locate_in(memory, recipe).outcome == LS_UNREADABLE_NO_RECIPE);
  recipe.kind = LS_RECIPE_NOT_RELOCATED;
  REQUIRE(locate_in(memory, recipe).outcome == LS_UNREADABLE_NOT_RELOCATED);
  recipe.kind = 77;
  REQUIRE(locate_in(memory, recipe).outcome == LS_UNREADABLE_NO_RECIPE);
  REQUIRE(locate_in(memory, glibc_recipe(), 0).outcome == LS_UNREADABLE_NO_THREAD_POINTER);
  REQUIRE(locate_in(memory, tp_recipe(kTp), 0).outcome == LS_UNREADABLE_NO_THREAD_POINTER);
}

TEST_CASE(
    "observe: a process without publishers is unlabelled, one not planned yet is not relocated") {
  FakeMemory memory;
  NativeReader reader(memory);
  REQUIRE(reader.observe({}, kTp).outcome == LS_UNLABELLED);
  ls_tls_recipe later{};
  later.kind = LS_RECIPE_NOT_RELOCATED;
  REQUIRE(reader.observe({&later, 1}, kTp).outcome == LS_UNREADABLE_NOT_RELOCATED);
}

TEST_CASE("observe: labels of four publishers stand side by side") {
  LabelMemory made;
  made.add("a", "1").add("b", "2").publish();
  ls_tls_recipe recipe = tp_recipe(kVariable);
  std::vector<ls_tls_recipe> four(4, recipe);
  // This is another set with a different value of the same key.
  LabelMemory other;
  other.add("a", "9").publish();
  Address shift = 0x1000'0000;
  for (Address from : {kStrings, kStorage, kSet, kVariable}) {
    std::array<std::byte, 512> bytes{};
    REQUIRE((other.memory.map(from, 512), other.memory.read(from, bytes)));
    made.memory.put_bytes(from + shift, bytes);
  }
  made.memory.put(kVariable + shift, kSet + shift);
  made.memory.put(kSet + shift, kStorage + shift);
  made.memory.put(kStorage + shift + 8, kStrings + shift);
  made.memory.put(kStorage + shift + 24, kStrings + shift + 1);
  four[2] = tp_recipe(kVariable + shift);

  Observation seen = NativeReader(made.memory).observe(four, kTp);
  REQUIRE(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels == LabelSet{{"a", "1", 0}, {"b", "2", 0}, {"a", "9", 2}});
  REQUIRE(seen.flags == LS_KEY_CONFLICT);
}

TEST_CASE("observe: labelled if any publisher is, else the first reason") {
  LabelMemory made;
  made.add("a", "1").publish();
  ls_tls_recipe good = tp_recipe(kVariable);
  ls_tls_recipe hole = tp_recipe(0x7777'0000);
  ls_tls_recipe none{};
  ls_tls_recipe untouched = glibc_recipe();
  made.memory.put(kTp + 8, kDtv);
  made.memory.put(kDtv - 16, std::uint64_t{1});
  made.memory.put(kDtv, std::uint64_t{3});
  NativeReader reader(made.memory);
  auto observe = [&](std::vector<ls_tls_recipe> recipes) { return reader.observe(recipes, kTp); };

  Observation seen = observe({hole, good, none});
  REQUIRE(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels == LabelSet{{"a", "1", 1}});
  REQUIRE(seen.flags == LS_PARTLY_UNREADABLE);
  REQUIRE(observe({none, hole}).outcome == LS_UNREADABLE_NO_RECIPE);
  REQUIRE(observe({hole, none}).outcome == LS_UNREADABLE_NOT_RESIDENT);
  REQUIRE(observe({hole, none}).flags == 0);
  REQUIRE(observe({untouched}).flags == LS_NEVER_TOUCHED);
  REQUIRE(observe({untouched, good}).flags == 0);
  REQUIRE(observe({untouched, hole}).flags == 0);
  REQUIRE(observe({untouched, hole}).outcome == LS_UNREADABLE_NOT_RESIDENT);
}

TEST_CASE("observe: the most that all publishers can have fits into one record") {
  LabelMemory made(Layout::kScattered);
  for (int i = 0; i < 64; ++i) {
    made.add(std::to_string(i) + std::string(30, 'k'), std::string(30, 'v'));
  }
  made.publish();
  const std::vector<ls_tls_recipe> most(LS_MAX_PUBLISHERS, tp_recipe(kVariable));
  NativeReader reader(made.memory);
  Observation seen = reader.observe(most, kTp);
  REQUIRE(seen.outcome == LS_LABELLED);
  REQUIRE(seen.labels.size() == 64);  // the others equal those of the first set
  REQUIRE(reader.record().size() >
          std::size_t{LS_MAX_PUBLISHERS} * (std::size_t{64} * 60 + 64 * sizeof(ls_label_ref)));
}
