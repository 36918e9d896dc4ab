// Compares the kernel side with the reader's C++ on the same memory, with random hostile sets.
#include <algorithm>
#include <cstring>
#include <random>

#include "customlabels/thread_context.h"
#include "labelscope/observe.h"
#include "labelscope/process_facts.h"
#include "labelscope/variable_type.h"
#include "native/label_memory.h"
#include "native/native_reader.h"
#include "support/otel_bytes.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr Address kTp = 0x5000'0800;
constexpr Address kArena = 0x4000'0000;
constexpr Address kArenaPages = 12;

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool one_in(unsigned n) { return below(n) == 0; }
  Address in_arena() { return kArena + below(kArenaPages * FakeMemory::kPage); }

 private:
  std::mt19937_64 engine_;
};

RemoteString random_string(Chance& chance, Address near) {
  RemoteString string;
  string.address = chance.one_in(3) ? chance.in_arena() : near + chance.below(700);
  string.length = chance.below(24);
  if (chance.one_in(12)) string.length = 0;
  if (chance.one_in(20)) string.length = chance.below(1500);
  if (chance.one_in(60)) string.length = 3000 + chance.below(3000);
  if (chance.one_in(15)) string.address = 0;
  if (chance.one_in(200)) string.length = ~0ULL >> chance.below(20);
  if (chance.one_in(200)) string.address = ~0ULL >> chance.below(20);
  return string;
}

void put_random_set(Chance& chance, FakeMemory& memory, Address variable) {
  Address near = chance.in_arena();
  std::uint64_t count = chance.below(12);
  if (chance.one_in(6)) count = chance.below(140);
  Address storage = chance.in_arena();
  Address set = chance.in_arena();
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, LS_MAX_SLOTS); ++i) {
    memory.put(storage + i * sizeof(RemoteSlot),
               RemoteSlot{random_string(chance, near), random_string(chance, near)});
  }
  if (chance.one_in(30)) count = ~0ULL >> chance.below(60);
  if (chance.one_in(40)) storage = 0;
  memory.put(set, storage);
  memory.put(set + 8, count);
  memory.put(variable, chance.one_in(20) ? Address{0} : set);
}

// Puts a whole record in two of three cases. Numbers are small, so that some IDs are 0.
void put_random_context(Chance& chance, FakeMemory& memory, Address variable) {
  thread_context_record_t record{};
  record.span_id = chance.below(4) << chance.below(64);
  record.root_span_id = chance.below(4) << chance.below(64);
  record.checksum = thread_context_checksum(record.span_id, record.root_span_id);
  for (std::uint32_t& tag : record.tags) tag = static_cast<std::uint32_t>(chance.below(3));
  if (chance.one_in(3)) record.checksum = chance.below(3);
  memory.put(variable, record);
}

// Puts a random record: a few keys, short or long, sometimes too many for one sample, or with a
// false size.
void put_random_record(Chance& chance, FakeMemory& memory, Address variable) {
  otel::Record record;
  if (chance.one_in(3)) record.trace = std::string(16, '\0');
  if (chance.one_in(3)) record.span = std::string(8, '\0');
  if (chance.one_in(6)) record.valid = static_cast<std::uint8_t>(chance.below(4));
  const std::uint64_t count = chance.one_in(8) ? chance.below(60) : chance.below(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    record.add(static_cast<std::uint8_t>(chance.below(6)),
               std::string(chance.one_in(4) ? chance.below(256) : chance.below(20), 'v'));
  }
  if (chance.one_in(8)) record.size = static_cast<int>(chance.below(chance.one_in(2) ? 80 : 65536));
  const Address at = chance.in_arena();
  memory.put_text(at, record.bytes());
  memory.put(variable, chance.one_in(20) ? Address{0} : at);
}

void put_random_elastic(Chance& chance, FakeMemory& memory, Address variable) {
  std::string record(37, '\0');
  record[0] = 1;
  record[2] = static_cast<char>(chance.below(3));
  record[3] = static_cast<char>(chance.one_in(4) ? chance.below(3) : 1);
  for (std::size_t i = 5; i < record.size(); ++i) {
    if (!chance.one_in(3)) record[i] = static_cast<char>(chance.below(256));
  }
  if (chance.one_in(5)) record.replace(5, 32, 32, '\0');
  if (chance.one_in(5)) record.replace(21, 16, 16, '\0');
  const Address at = chance.in_arena();
  memory.put_text(at, record);
  memory.put(variable, chance.one_in(20) ? Address{0} : at);
}

// Puts objects of JavaScript that mostly lead to a record, of a writer of one kind or the other.
void put_random_node(Chance& chance, FakeMemory& memory, Address variable, ls_tls_recipe& recipe) {
  const auto place = [&] { return chance.in_arena() & ~Address{7}; };
  const auto object = [&](Address at) { return chance.one_in(30) ? at : at + 1; };
  const auto small = [&](std::uint64_t number) {
    return chance.one_in(60) ? place() : number << 32;
  };
  const Address slot = place(), key_handle = place(), map = place(), table = place();
  const Address wrapper = place(), handle_of_undefined = place();
  const std::uint64_t key = place() + 1, undefined = 0x21, buckets = 1ULL << chance.below(3);
  const bool two_steps = chance.one_in(2);
  const std::uint64_t hash = chance.below(~0U);
  recipe.parameters[0] = 24 | 16ULL << 16 | 32ULL << 32 | (two_steps ? 25ULL : 0) << 48;
  if (chance.one_in(30)) recipe.parameters[0] = chance.below(~0ULL);
  const Address record = place();
  put_random_record(chance, memory, two_steps ? wrapper + 24 : wrapper);
  memory.put(wrapper + 32, two_steps ? wrapper : record);
  otel::Record made;
  memory.put_text(record, made.add(0, "node").bytes());
  memory.put(table + 16, small(3));
  memory.put(table + 24, small(1));
  memory.put(table + 32, small(chance.one_in(20) ? 3 : buckets));
  for (std::uint64_t i = 0; i < buckets; ++i) {
    memory.put(table + 40 + 8 * i, small(chance.one_in(4) ? 0xffffffff : chance.below(4)));
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Address entry = table + 40 + 8 * buckets + 24 * i;
    memory.put(entry, chance.one_in(2) ? key : place());
    memory.put(entry + 8, chance.one_in(10) ? undefined : object(wrapper));
    memory.put(entry + 16, small(chance.one_in(2) ? 0xffffffff : chance.below(5)));
  }
  memory.put(map + 24, object(table));
  memory.put(slot, chance.one_in(10) ? undefined : object(map));
  memory.put(key_handle, key);
  memory.put(variable, chance.one_in(20) ? Address{0} : slot);
  memory.put(variable + 8, key_handle);
  memory.put(variable + 16, hash | (chance.one_in(2) ? 32ULL << 32 : 0));
  const bool handle = chance.one_in(2);
  if (handle) memory.put(handle_of_undefined, undefined);
  memory.put(variable + 24, handle ? handle_of_undefined : undefined);
}

// Puts a variable that the user mostly describes rightly: pointers into the arena, and text there.
void put_random_variable(Chance& chance, FakeMemory& memory, Address variable,
                         ls_tls_recipe& recipe) {
  ls_variable walk{};
  walk.kind = static_cast<std::uint8_t>(LS_VARIABLE_UNSIGNED + chance.below(LS_VARIABLE_TEXT));
  walk.index = static_cast<std::uint8_t>(chance.below(6));
  walk.hops = static_cast<std::uint8_t>(chance.below(LS_VARIABLE_HOPS + 1));
  walk.size = 1U << chance.below(4);
  if (walk.kind == LS_VARIABLE_FLOAT) walk.size = chance.one_in(2) ? 4 : 8;
  if (walk.kind == LS_VARIABLE_BOOL) walk.size = 1;
  if (walk.kind == LS_VARIABLE_HEX || walk.kind == LS_VARIABLE_ARRAY) {
    walk.size = static_cast<std::uint32_t>(1 + chance.below(LS_VARIABLE_MAX_BYTES));
  }
  if (chance.one_in(40)) walk.hops = static_cast<std::uint8_t>(chance.below(256));
  Address place = variable;
  for (unsigned hop = 0; hop <= LS_VARIABLE_HOPS; ++hop) {
    walk.offset[hop] = static_cast<std::int32_t>(chance.below(200));
    place += static_cast<Address>(walk.offset[hop]);
    if (hop == walk.hops) break;
    Address next = chance.one_in(20) ? 0 : chance.in_arena();
    if (chance.one_in(40)) next = ~0ULL >> chance.below(20);
    memory.put(place, next);
    place = next;
  }
  const Address text = chance.in_arena();
  if (place >= kArena && place < kArena + kArenaPages * FakeMemory::kPage) {
    const bool view = walk.kind == LS_VARIABLE_VIEW;
    memory.put(place + (view ? 8 : 0), chance.one_in(20) ? Address{0} : text);
    if (walk.kind >= LS_VARIABLE_SLICE) {
      memory.put(place + (view ? 0 : 8),
                 chance.one_in(10) ? ~0ULL >> chance.below(60) : chance.below(300));
    }
  }
  memory.put_text(text, std::string(chance.below(300), 'x') + std::string(1, '\0'));
  static_assert(sizeof walk == sizeof recipe.parameters);
  std::memcpy(recipe.parameters, &walk, sizeof walk);
}

ls_tls_recipe random_recipe(Chance& chance, FakeMemory& memory) {
  Address variable = chance.in_arena() & ~Address{7};
  ls_tls_recipe recipe{};
  recipe.kind =
      static_cast<std::uint32_t>(chance.one_in(5) ? chance.below(7) : 1 + chance.below(2));
  const bool absolute = recipe.kind == LS_AT_ADDRESS || recipe.kind == LS_FIRST_THREAD_AT_ADDRESS;
  recipe.offset = static_cast<std::int64_t>(absolute ? variable : variable - kTp);
  if (recipe.kind == LS_DTV_SLOT) {
    // The DTV is aligned, so that its head does not lie across two pages.
    Address dtv = (chance.in_arena() & ~Address{255}) + 64;
    bool glibc = chance.one_in(2);
    recipe.dtv_offset = 8;
    recipe.entry_size = glibc ? 16 : 8;
    recipe.length_offset = glibc ? -16 : 0;
    recipe.generation = glibc ? chance.below(4) : 0;
    recipe.module_id = static_cast<std::uint32_t>(1 + chance.below(4));
    recipe.offset = static_cast<std::int64_t>(chance.below(64) * 8);
    memory.put(dtv, std::uint64_t{chance.below(6)});
    if (glibc) memory.put(dtv - 16, std::uint64_t{chance.below(8)});
    Address block = variable - static_cast<Address>(recipe.offset);
    if (chance.one_in(8)) block = chance.one_in(2) ? 0 : ~0ULL;
    memory.put(dtv + Address{recipe.module_id} * recipe.entry_size, block);
    memory.put(kTp + 8, chance.one_in(20) ? Address{0} : dtv);
  }
  if (chance.one_in(3)) {
    recipe.source = LS_SOURCE_VARIABLE;
    put_random_variable(chance, memory, variable, recipe);
  } else if (chance.one_in(4)) {
    recipe.source =
        static_cast<std::uint16_t>(chance.one_in(30) ? LS_SOURCE_COUNT : LS_SOURCE_THREAD_CONTEXT);
    put_random_context(chance, memory, variable);
  } else if (chance.one_in(4)) {
    recipe.source = LS_SOURCE_NODE;
    put_random_node(chance, memory, variable, recipe);
  } else if (chance.one_in(5)) {
    recipe.source = LS_SOURCE_ELASTIC;
    put_random_elastic(chance, memory, variable);
  } else if (chance.one_in(3)) {
    recipe.source = LS_SOURCE_OTEL_CONTEXT;
    put_random_record(chance, memory, variable);
  } else {
    put_random_set(chance, memory, variable);
  }
  return recipe;
}

// What a random process publishes, and its memory.
struct RandomProcess {
  explicit RandomProcess(Chance& chance) {
    for (Address page = 0; page < kArenaPages + 2; ++page) {
      memory.map(kArena + page * FakeMemory::kPage, 1);
    }
    std::vector<std::uint64_t> noise(64);
    for (std::uint64_t& word : noise) word = chance.below(~0ULL);
    memory.put_bytes(chance.in_arena(), std::as_bytes(std::span(noise)));
    memory.map(kTp, 64);
    for (std::uint64_t i = 0, n = 1 + chance.below(LS_MAX_PUBLISHERS); i < n; ++i) {
      recipes.push_back(random_recipe(chance, memory));
    }
    for (std::uint64_t holes = chance.below(3); holes > 0; --holes) {
      memory.unmap_page(chance.in_arena());
    }
    fake_first_thread = chance.one_in(2);
  }
  FakeMemory memory;
  std::vector<ls_tls_recipe> recipes;
};

}  // namespace

TEST_CASE("walk_labels and label_walk: the kernel side and the reader agree on random memory") {
  unsigned labelled = 0;
  unsigned unreadable = 0;
  unsigned torn = 0;
  unsigned without_name = 0;
  ProcessFacts facts;
  facts.keys = {"route", "user", "", "tenant"};
  unsigned variables = 0;
  unsigned of_node = 0;
  unsigned of_elastic = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Chance chance(seed);
    RandomProcess process(chance);
    const auto& [memory, recipes] = process;
    const bool first = fake_first_thread;
    Observation kernel = NativeReader(memory).observe(recipes, kTp, {&facts});
    Observation reader = labelscope::observe(recipes, {kTp, Tid{}, nullptr, &facts, first}, memory);
    INFO("seed " << seed);
    // The kernel side drops the reason of one publisher where another has a block. It finds out
    // only later that nothing in the block has a name.
    const bool of_block =
        kernel.outcome == LS_UNREADABLE_NO_KEYS || kernel.outcome == LS_UNREADABLE_MALFORMED;
    REQUIRE(is_unreadable(kernel.outcome) == is_unreadable(reader.outcome));
    if (!of_block) REQUIRE(outcome_name(kernel.outcome) == outcome_name(reader.outcome));
    REQUIRE(kernel.flags == reader.flags);
    REQUIRE(kernel.labels == reader.labels);
    labelled += reader.outcome == LS_LABELLED;
    unreadable += is_unreadable(reader.outcome);
    torn += reader.outcome == LS_UNREADABLE_TORN;
    without_name += (reader.flags & LS_UNKNOWN_KEY) != 0;
    of_elastic += std::ranges::any_of(
        reader.labels, [](const Label& label) { return label.key == "transaction_id"; });
    of_node += std::ranges::find(reader.labels, "node", &Label::value) != reader.labels.end();
    variables += std::ranges::any_of(
        reader.labels, [](const Label& label) { return label.key.starts_with("variable"); });
  }
  // This shows that the random cases reach sets that are labelled.
  REQUIRE(labelled > 500);
  REQUIRE(unreadable > 500);
  REQUIRE(torn > 50);
  REQUIRE(without_name > 200);
  REQUIRE(variables > 500);
  REQUIRE(of_node > 50);
  REQUIRE(of_elastic > 50);
}

// The truth is the walk itself: where the bytes that it has read are still the same, it has the
// same result.
TEST_CASE("remembered_reads: equal bytes at the remembered places mean equal labels") {
  constexpr ls_label_key kKey = {{0x1234'5678'9abc'def0, 1}};
  unsigned remembered = 0;
  unsigned seen_changes = 0;
  unsigned unlike = 0;
  unsigned joined = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Chance chance(seed);
    RandomProcess process(chance);
    INFO("seed " << seed);
    NativeReader reader(process.memory);
    static_cast<void>(reader.observe(process.recipes, kTp));
    const std::vector<std::byte> record = reader.record();
    const std::uint64_t number = native_label_number(kKey);
    if (!native_remember()) continue;
    ++remembered;
    joined += native_remembered_ranges() < process.recipes.size();
    REQUIRE(native_has_same_bytes());
    for (int change = 0; change < 20; ++change) {
      const Address at =
          native_remembered_place(static_cast<std::uint32_t>(chance.below(6)), chance.below(4096));
      std::byte old{};
      REQUIRE(process.memory.read(at, {&old, 1}));
      process.memory.put(at, old ^ std::byte{static_cast<unsigned char>(1 + chance.below(255))});
      const bool same = native_has_same_bytes();
      static_cast<void>(reader.observe(process.recipes, kTp));
      const bool equal = reader.record() == record && native_label_number(kKey) == number;
      REQUIRE((equal || !same));
      seen_changes += !same;
      unlike += !equal;
      process.memory.put(at, old);
    }
    REQUIRE(native_has_same_bytes());
    process.memory.unmap_page(native_remembered_place(0, 0));
    REQUIRE(!native_has_same_bytes());
  }
  // This shows that the random cases reach what they are about.
  CHECK(remembered > 500);
  CHECK(seen_changes > 1000);
  CHECK(unlike > 500);
  CHECK(joined > 50);
}
