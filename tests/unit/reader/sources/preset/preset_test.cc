// Programs of presets that are refused, blocks that contradict themselves, and memory that changes
// while it is read.
#include "sources/preset/preset.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/observe.h"
#include "sources/label_codec.h"
#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kOwner = 0x1000;
constexpr Address kValue = 0x1008;

ls_preset_program program_of(std::initializer_list<ls_preset_step> steps) {
  ls_preset_program program{};
  program.count = static_cast<std::uint32_t>(steps.size());
  std::ranges::copy(steps, program.step);
  return program;
}

constexpr ls_preset_step kEmit{LS_PRESET_EMIT, 0, 1, LS_VARIABLE_UNSIGNED, 8, 0};

// The value counts if the owner is 1.
PresetPlan owned_value() {
  PresetPlan plan;
  plan.name = "owned";
  plan.program = program_of({{LS_PRESET_SET, 0, 0, 0, 0, kOwner},
                             {LS_PRESET_READ, 2, 0, 8, 0, 0},
                             {LS_PRESET_NEED, 0, 2, LS_PRESET_EQUAL, 0, 1},
                             {LS_PRESET_READ, 1, 0, 8, kValue - kOwner, 0},
                             kEmit});
  plan.labels = {{"value", {}, {}}};
  return plan;
}

// Memory that a writer changes at a certain read.
class ChangingMemory final : public MemorySource {
 public:
  explicit ChangingMemory(std::function<void(FakeMemory&, std::size_t read)> change)
      : change_(std::move(change)) {
    memory_.put(kOwner, std::uint64_t{1});
    memory_.put(kValue, std::uint64_t{10});
  }
  Status read(Address address, std::span<std::byte> out) const override {
    change_(memory_, reads_++);
    return memory_.read(address, out);
  }

 private:
  std::function<void(FakeMemory&, std::size_t)> change_;
  mutable FakeMemory memory_;
  mutable std::size_t reads_ = 0;
};

Observation read_by(PresetPlan plan, const MemorySource& memory) {
  PresetPlans presets;
  const ls_tls_recipe recipe = presets.add(std::move(plan));
  return observe({&recipe, 1}, {.presets = &presets}, memory);
}

Observation read_owned(const MemorySource& memory) {
  return read_by(owned_value(), memory);
}

std::vector<std::byte> block_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::byte> block(bytes.size());
  std::ranges::transform(bytes, block.begin(), [](std::uint8_t each) { return std::byte{each}; });
  return block;
}

}  // namespace

TEST_CASE(
    "preset: a value is read again with its check, because the owner may change between them") {
  // The first read is that of the owner, the second that of the value.
  const auto at = GENERATE(range(std::size_t{0}, std::size_t{6}));
  const ChangingMemory memory([at](FakeMemory& bytes, std::size_t read) {
    if (read != at) return;
    bytes.put(kOwner, std::uint64_t{2});
    bytes.put(kValue, std::uint64_t{20});
  });
  const Observation seen = read_owned(memory);
  INFO("changed before read " << at);
  // A label is the owner's own. Two whole readings had ended before the fifth read.
  if (at < 4) {
    CHECK(seen.outcome == LS_UNREADABLE_STALE);
  } else {
    REQUIRE(seen.outcome == LS_LABELLED);
    CHECK(seen.labels == LabelSet{{"value", "10", 0}});
  }
}

TEST_CASE("preset: a check whose value is another one at every reading keeps no label") {
  // The owner counts its changes, and so it may have had another value in between.
  PresetPlan plan = owned_value();
  plan.program.step[2] = {LS_PRESET_NEED, 0, 2, LS_PRESET_NO_BIT, 0, 1};
  const auto read = [&](std::size_t changes) {
    const ChangingMemory memory([changes](FakeMemory& bytes, std::size_t number) {
      bytes.put(kOwner, std::uint64_t{2 * std::min(number, changes)});
    });
    return read_by(plan, memory);
  };
  CHECK(read(1000).outcome == LS_UNREADABLE_TORN);
  CHECK(read(4).labels == LabelSet{{"value", "10", 0}});
}

TEST_CASE("preset: a value that is another one at every reading is torn") {
  const ChangingMemory memory(
      [](FakeMemory& bytes, std::size_t read) { bytes.put(kValue, std::uint64_t{read}); });
  CHECK(read_owned(memory).outcome == LS_UNREADABLE_TORN);
}

TEST_CASE("preset: what is made of a value may be another one, or no label") {
  PresetPlan plan = owned_value();
  plan.labels[0].transform_text = "long";
  plan.labels[0].transform = [](std::string value) -> std::optional<std::string> {
    if (value == "10") return std::nullopt;
    value += '!';
    return value;
  };
  FakeMemory memory;
  memory.put(kOwner, std::uint64_t{1});
  memory.put(kValue, std::uint64_t{11});
  CHECK(read_by(plan, memory).labels == LabelSet{{"value", "11!", 0}});
  memory.put(kValue, std::uint64_t{10});
  const Observation none = read_by(plan, memory);
  CHECK(none.outcome == LS_UNLABELLED);
  CHECK(none.labels.empty());
}

TEST_CASE("preset: plans with the same content have one number, in whatever process") {
  const auto number_of = [](PresetPlan plan) {
    return preset_number(PresetPlans().add(std::move(plan)));
  };
  const std::uint32_t number = number_of(owned_value());
  CHECK(number != 0);
  CHECK(number_of(owned_value()) == number);
  PresetPlan other = owned_value();
  other.labels[0].key = "other";
  CHECK(number_of(other) != number);
  other = owned_value();
  other.program.step[0].value = kOwner + 64;
  CHECK(number_of(other) != number);
  other = owned_value();
  other.name = "another";
  CHECK(number_of(other) != number);
}

TEST_CASE("preset: a process finds the plans that it owns, and no other's") {
  PresetPlans presets;
  const ls_tls_recipe recipe = presets.add(owned_value());
  const PresetPlan* plan = presets.find(recipe);
  REQUIRE(plan != nullptr);
  CHECK(plan->name == "owned");
  CHECK(plan == presets.find(preset_number(recipe)));
  presets.add(owned_value());
  CHECK(plan == presets.find(recipe));
  CHECK(PresetPlans().find(recipe) == nullptr);
  CHECK(presets.find(0U) == nullptr);
  CHECK(presets.find(preset_number(recipe) + 1) == nullptr);
  // A number may stand where a recipe of another source has something else.
  ls_tls_recipe variable = recipe;
  variable.source = LS_SOURCE_VARIABLE;
  CHECK(presets.find(variable) == nullptr);
  CHECK(presets.find(ls_tls_recipe{}) == nullptr);
}

TEST_CASE("preset: plans of earlier plans of a process are kept, of many the latest") {
  PresetPlans before;
  std::vector<ls_tls_recipe> recipes;
  PresetPlan other = owned_value();
  for (std::size_t i = 0; i < 1000; ++i) {
    PresetPlans now;
    other.name = "owned " + std::to_string(i);
    recipes.push_back(now.add(other));
    now.keep(before);
    before = now;
  }
  const auto is_kept = [&](const ls_tls_recipe& recipe) { return before.find(recipe) != nullptr; };
  CHECK(std::ranges::all_of(std::span(recipes).last(LS_MAX_PUBLISHERS), is_kept));
  CHECK(std::ranges::none_of(std::span(recipes).first(900), is_kept));
}

TEST_CASE("preset: without its plan there is neither a way nor a meaning") {
  PresetPlans presets;
  const ls_tls_recipe recipe = presets.add(owned_value());
  FakeMemory memory;
  memory.put(kOwner, std::uint64_t{1});
  memory.put(kValue, std::uint64_t{10});
  const ThreadState thread{.presets = &presets};
  std::vector<std::byte> bytes;
  REQUIRE(observe_as_bytes({&recipe, 1}, thread, memory, bytes).outcome == LS_LABELLED);
  CHECK(decode_label_bytes(bytes, {.presets = &presets}).labels == LabelSet{{"value", "10", 0}});
  const PresetPlans none;
  for (const PresetPlans* others : {&none, static_cast<const PresetPlans*>(nullptr)}) {
    CHECK(observe({&recipe, 1}, {.presets = others}, memory).outcome == LS_UNREADABLE_NO_RECIPE);
    const Observation seen = decode_label_bytes(bytes, {.presets = others});
    CHECK(seen.outcome == LS_UNREADABLE_NO_KEYS);
    CHECK(seen.flags == LS_UNKNOWN_KEY);
    CHECK(seen.labels.empty());
  }
}

TEST_CASE("preset: a block that contradicts itself is malformed") {
  PresetPlans presets;
  const std::uint32_t number = preset_number(presets.add(owned_value()));
  const auto decode = [&](std::vector<std::uint8_t> bytes) {
    if (bytes.size() >= sizeof number) std::memcpy(bytes.data(), &number, sizeof number);
    return Preset().decode(block_of(bytes), 3, {.presets = &presets});
  };
  const Observation good = decode({0, 0, 0, 0, 1, 0, 0, 0, 0, LS_VARIABLE_UNSIGNED, 2, 0, 1, 1});
  REQUIRE(good.outcome == LS_LABELLED);
  CHECK(good.labels == LabelSet{{"value", "257", 3}});
  const std::vector<std::vector<std::uint8_t>> bad{
      {},
      {0, 0, 0, 0, 1, 0, 0},
      {0, 0, 0, 0, 1, 0, 0, 0},                                          // no label
      {0, 0, 0, 0, 1, 0, 0, 0, 0, LS_VARIABLE_UNSIGNED, 2, 0, 1},        // too short
      {0, 0, 0, 0, 1, 0, 0, 0, 0, LS_VARIABLE_UNSIGNED, 2, 0, 1, 1, 9},  // too long
      {0, 0, 0, 0, 1, 0, 0, 0, 1, LS_VARIABLE_UNSIGNED, 2, 0, 1, 1},     // no such label
      {0, 0, 0, 0, 1, 0, 0, 0, 0, LS_VARIABLE_UNSIGNED, 3, 0, 1, 1, 1},  // 3 bytes
      {0, 0, 0, 0, 1, 0, 0, 0, 0, 99, 2, 0, 1, 1},                       // no such kind
      {0, 0, 0, 0, 1, 0, 0, 0, 0, LS_VARIABLE_TEXT, 2, 0, 'a', 'b'},     // no NUL
      {0, 0, 0, 0, 65, 0, 0, 0, 0, LS_VARIABLE_UNSIGNED, 2, 0, 1, 1}};
  for (const auto& bytes : bad) {
    INFO(bytes.size() << " bytes");
    CHECK(decode(bytes).outcome == LS_UNREADABLE_MALFORMED);
  }
}

TEST_CASE("preset: a program with a mistake is refused, and the mistake named") {
  struct Case {
    ls_preset_step step;
    const char* problem;  // null if it is right
  };
  constexpr std::uint8_t kBits = LS_PRESET_EQUAL | LS_PRESET_WITH_SLOT;
  const std::vector<Case> cases{
      {{0, 0, 0, 0, 0, 0}, "step 0 is no known step: 0"},
      {{LS_PRESET_OPS_END, 0, 0, 0, 0, 0}, "step 0 is no known step: 17"},
      {{LS_PRESET_SET, 32, 0, 0, 0, 0}, "step 0 uses slot 32"},
      {{LS_PRESET_SET, 15, 0, 0, 0, 0}, nullptr},
      {{LS_PRESET_ADD, 0, 32, 0, 0, 0}, "step 0 uses slot 32"},
      {{LS_PRESET_SUM, 0, 0, 0, 0, 32}, "step 0 uses slot 32"},
      {{LS_PRESET_READ, 0, 0, 5, 0, 0}, "step 0 reads 5 bytes"},
      {{LS_PRESET_READ, 0, 0, 4 | LS_PRESET_SIGNED, 0, 0}, nullptr},
      {{LS_PRESET_READ, 0, 0, 4, LS_PRESET_OFFSET + 1, 0}, "step 0 has the offset 1048577"},
      {{LS_PRESET_READ, 0, 0, 4, -LS_PRESET_OFFSET, 0}, nullptr},
      {{LS_PRESET_BLOCK, 4, 0, 0, 0, 8}, "step 0 uses block 4"},
      {{LS_PRESET_BLOCK, 3, 0, 0, 0, 513}, "step 0 reads 513 bytes"},
      {{LS_PRESET_BLOCK, 3, 0, 0, 0, 512}, nullptr},
      {{LS_PRESET_FIELD, 0, 4, 4, 0, 0}, "step 0 uses block 4"},
      {{LS_PRESET_FIELD, 0, 3, 4, 509, 0}, "step 0 reads outside of its block"},
      {{LS_PRESET_FIELD, 0, 3, 4, 508, 0}, nullptr},
      {{LS_PRESET_FIELD, 0, 3, 4, -1, 0}, "step 0 reads outside of its block"},
      {{LS_PRESET_FIND, 0, 0, 9, 0, 0}, "step 0 searches 9 nodes"},
      {{LS_PRESET_FIND, 0, 0, 8, 0, (1ULL << 53)}, "step 0 has the offset 2097152"},
      {{LS_PRESET_FIND, 0, 0, 8, 0, 7 | 32ULL << 32}, nullptr},
      {{LS_PRESET_UNLESS, 0, 0, 0, 0, 0}, "step 0 compares in no known way"},
      {{LS_PRESET_UNLESS, 0, 0, LS_PRESET_COMPARISONS_END, 0, 0},
       "step 0 compares in no known way"},
      {{LS_PRESET_UNLESS, 32, 0, kBits, 0, 0}, "step 0 uses slot 32"},
      {{LS_PRESET_UNLESS, 32, 0, LS_PRESET_EQUAL, 1, 0}, nullptr},
      {{LS_PRESET_UNLESS, 0, 0, LS_PRESET_EQUAL, 2, 0}, "step 0 skips 2 of 1 steps"},
      {{LS_PRESET_UNLESS, 0, 0, LS_PRESET_EQUAL, -1, 0}, "step 0 skips -1 of 1 steps"},
      {{LS_PRESET_EMIT, 16, 0, LS_VARIABLE_UNSIGNED, 8, 0}, "step 0 gives label 16"},
      {{LS_PRESET_EMIT, 0, 0, LS_VARIABLE_TEXT, 8, 0}, "step 0 gives no number"},
      {{LS_PRESET_EMIT, 0, 0, LS_VARIABLE_FLOAT, 2, 0}, "step 0 gives a number of 2 bytes"},
      {{LS_PRESET_EMIT, 0, 0, LS_VARIABLE_BOOL, 1, 0}, nullptr},
      {{LS_PRESET_EMIT_TEXT, 0, 0, LS_VARIABLE_UNSIGNED, 0, 8}, "step 0 gives no text"},
      {{LS_PRESET_EMIT_TEXT, 0, 0, LS_VARIABLE_ARRAY, 0, 257}, "step 0 gives 257 bytes"},
      {{LS_PRESET_EMIT_TEXT, 0, 0, LS_VARIABLE_SLICE, 0, 32}, "step 0 uses slot 32"},
      {{LS_PRESET_EMIT_TEXT, 0, 0, LS_VARIABLE_TEXT, 0, 0}, nullptr},
      {{LS_PRESET_EMIT_FIELD, 0, 0, LS_VARIABLE_TEXT, 0, 8}, "step 0 gives no text"},
      {{LS_PRESET_EMIT_FIELD, 0, 0, LS_VARIABLE_HEX, 500, 13}, "step 0 reads outside of its block"},
      {{LS_PRESET_EMIT_FIELD, 0, 0, LS_VARIABLE_HEX, 500, 12}, nullptr},
      {{LS_PRESET_EMIT_NAME, 16, 0, LS_VARIABLE_ARRAY, 0, 0}, "step 0 gives label 16"},
      {{LS_PRESET_EMIT_NAME, 0, 0, LS_VARIABLE_ARRAY, 0, 0}, nullptr}};
  for (const Case& each : cases) {
    const auto problem = refuse_program(program_of({each.step, kEmit}));
    INFO("op " << int{each.step.op});
    CHECK(problem.value_or("") == (each.problem == nullptr ? "" : each.problem));
  }
  CHECK(refuse_program({}).value_or("") == "it has no steps");
  CHECK(refuse_program(program_of({{LS_PRESET_SET, 0, 0, 0, 0, 0}})).value_or("") ==
        "it gives no label");
  ls_preset_program long_one = program_of({kEmit});
  long_one.count = LS_PRESET_STEPS + 1;
  CHECK(refuse_program(long_one).value_or("") == "it has 65 steps, more than 64");
}

}  // namespace labelscope::test
