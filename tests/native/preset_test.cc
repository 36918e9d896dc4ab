// Programs of presets, run by the kernel side and by the reader over made-up memory. Both run the
// same code (labelscope/preset_walk.h), so they are held against a third one, which is written here
// as preset_program.h describes it.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "labelscope/observe.h"
#include "labelscope/preset_plan.h"
#include "native/native_reader.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr Address kThreadPointer = 0x5000'0800;
constexpr Address kArena = 0x4000'0000;
constexpr Address kArenaPages = 4;
constexpr std::uint32_t kThreadNumber = 4711;
constexpr std::string_view kThreadName = "http-nio-8080-e";

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool one_in(unsigned n) { return below(n) == 0; }
  Address place() { return kArena + below(kArenaPages * FakeMemory::kPage - 600); }
  std::uint8_t small(unsigned bound) { return static_cast<std::uint8_t>(below(bound)); }

 private:
  std::mt19937_64 engine_;
};

// What a run must give.
struct Expected {
  ls_outcome outcome = LS_UNLABELLED;
  std::uint32_t flags = 0;
  LabelSet labels;
};

std::string bytes_text(std::span<const std::byte> bytes, bool up_to_nul) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return up_to_nul ? text.substr(0, text.find('\0')) : text;
}

std::string hex_text(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

// Runs a program as its description has it, one statement for each.
class Model {
 public:
  Model(const ls_preset_program& program, const FakeMemory& memory, Address located,
        std::string_view name)
      : program_(program), memory_(memory), located_(located), name_(name) {}

  Expected run() {
    for (std::size_t at = 0; at < program_.count;) {
      const ls_preset_step& step = program_.step[at++];
      if (step.op == LS_PRESET_UNLESS || step.op == LS_PRESET_NEED) {
        if (holds(step)) continue;
        if (step.op == LS_PRESET_NEED) return failed(LS_UNREADABLE_STALE);
        at += static_cast<std::size_t>(step.offset);
        continue;
      }
      if (const ls_outcome outcome = run_step(step); outcome != LS_LABELLED) return failed(outcome);
    }
    if (!seen_.labels.empty()) seen_.outcome = LS_LABELLED;
    return seen_;
  }

 private:
  Expected failed(ls_outcome outcome) {
    seen_.labels.clear();
    seen_.flags &= ~static_cast<std::uint32_t>(LS_DUPLICATE_KEY);  // there are no labels any more
    seen_.outcome = outcome;
    return seen_;
  }

  bool holds(const ls_preset_step& step) {
    const std::uint64_t a = slots_.at(step.from);
    const std::uint64_t b =
        (step.size & LS_PRESET_WITH_SLOT) != 0 ? slots_.at(step.to) : step.value;
    const auto signed_a = static_cast<std::int64_t>(a);
    const auto signed_b = static_cast<std::int64_t>(b);
    switch (step.size & 0x7f) {
      case LS_PRESET_EQUAL:
        return a == b;
      case LS_PRESET_NOT_EQUAL:
        return a != b;
      case LS_PRESET_GREATER:
        return a > b;
      case LS_PRESET_LESS:
        return a < b;
      case LS_PRESET_SIGNED_GREATER:
        return signed_a > signed_b;
      case LS_PRESET_SIGNED_LESS:
        return signed_a < signed_b;
      case LS_PRESET_ANY_BIT:
        return (a & b) != 0;
      case LS_PRESET_NO_BIT:
        return (a & b) == 0;
      default:
        FAIL("an unknown comparison");
        return false;
    }
  }

  // The memory at an address, or why there is none.
  ls_outcome fetch(Address address, std::size_t size, std::vector<std::byte>& bytes) {
    address = memory_.untagged(address);
    if (address >> 57 != 0) return LS_UNREADABLE_MALFORMED;
    bytes.resize(size);
    if (size != 0 && !memory_.read(address, bytes)) return LS_UNREADABLE_NOT_RESIDENT;
    return LS_LABELLED;
  }

  static std::uint64_t number_of(std::span<const std::byte> bytes, bool is_signed) {
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      number = number << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    if (is_signed && !bytes.empty() && (std::to_integer<unsigned>(bytes.back()) & 0x80) != 0) {
      for (std::size_t i = bytes.size(); i < 8; ++i) number |= std::uint64_t{0xff} << 8 * i;
    }
    return number;
  }

  ls_outcome run_step(const ls_preset_step& step) {
    const std::uint64_t from = step.from < slots_.size() ? slots_[step.from] : 0;
    const Address address = from + static_cast<Address>(std::int64_t{step.offset});
    const bool is_signed = (step.size & LS_PRESET_SIGNED) != 0;
    const std::size_t width = step.size & 0x7f;
    std::vector<std::byte> bytes;
    ls_outcome outcome = LS_LABELLED;
    switch (step.op) {
      case LS_PRESET_SET:
        slots_.at(step.to) = step.value;
        break;
      case LS_PRESET_THREAD:
        slots_.at(step.to) = kThreadPointer + step.value;
        break;
      case LS_PRESET_LOCATED:
        slots_.at(step.to) = located_ + step.value;
        break;
      case LS_PRESET_NUMBER:
        slots_.at(step.to) = kThreadNumber;
        break;
      case LS_PRESET_ADD:
        slots_.at(step.to) = from + step.value;
        break;
      case LS_PRESET_SUM:
        slots_.at(step.to) = from + slots_.at(step.value);
        break;
      case LS_PRESET_READ:
        outcome = fetch(address, width, bytes);
        if (outcome == LS_LABELLED) slots_.at(step.to) = number_of(bytes, is_signed);
        break;
      case LS_PRESET_BLOCK:
        blocks_.at(step.to).clear();
        outcome = fetch(address, step.value, bytes);
        if (outcome == LS_LABELLED) blocks_.at(step.to) = bytes;
        break;
      case LS_PRESET_FIELD:
        bytes = in_block(step, width);
        slots_.at(step.to) = number_of(bytes, is_signed);
        break;
      case LS_PRESET_FIND:
        return find(step, from);
      case LS_PRESET_EMIT:
        for (int i = 0; i < step.offset; ++i)
          bytes.push_back(static_cast<std::byte>(from >> 8 * i));
        emit(step, bytes);
        break;
      case LS_PRESET_EMIT_TEXT:
        return emit_text(step, address);
      case LS_PRESET_EMIT_FIELD:
        bytes = in_block(step, step.value);
        if (!bytes.empty()) emit(step, bytes);
        break;
      case LS_PRESET_EMIT_NAME:
        for (const char c : name_) bytes.push_back(static_cast<std::byte>(c));
        bytes.resize(LS_PRESET_NAME);
        if (name_.empty()) {
          static_cast<void>(has_room());
        } else {
          emit(step, bytes);
        }
        break;
      default:
        FAIL("an unknown step");
    }
    return outcome;
  }

  std::vector<std::byte> in_block(const ls_preset_step& step, std::size_t size) {
    const std::vector<std::byte>& block = blocks_.at(step.from);
    const auto offset = static_cast<std::size_t>(step.offset);
    if (offset + size > block.size()) return {};
    const auto start = block.begin() + step.offset;
    return {start, start + static_cast<std::ptrdiff_t>(size)};
  }

  ls_outcome find(const ls_preset_step& step, Address node) {
    std::vector<std::byte> bytes;
    std::uint64_t found = 0;
    for (int left = step.size; left > 0 && node != 0; --left) {
      ls_outcome outcome = fetch(node + static_cast<Address>(std::int64_t{step.offset}), 4, bytes);
      if (outcome != LS_LABELLED) return outcome;
      if (number_of(bytes, false) == (step.value & 0xffff'ffff)) {
        found = node;
        break;
      }
      outcome = fetch(node + (step.value >> 32), 8, bytes);
      if (outcome != LS_LABELLED) return outcome;
      node = number_of(bytes, false);
    }
    slots_.at(step.to) = found;
    return LS_LABELLED;
  }

  ls_outcome emit_text(const ls_preset_step& step, Address address) {
    if (!has_room()) return LS_LABELLED;
    std::vector<std::byte> bytes;
    if (step.size == LS_VARIABLE_TEXT) {
      std::vector<std::byte> one;
      do {
        const ls_outcome outcome = fetch(address + bytes.size(), 1, one);
        if (outcome != LS_LABELLED) return outcome;
        bytes.push_back(one[0]);
      } while (one[0] != std::byte{0} && bytes.size() <= LS_VARIABLE_MAX_BYTES);
      if (bytes.back() != std::byte{0}) {
        bytes.back() = std::byte{0};
        seen_.flags |= LS_TRUNCATED_BYTES;
      }
      emit(step, bytes);
      return LS_LABELLED;
    }
    std::uint64_t size = step.size == LS_VARIABLE_SLICE ? slots_.at(step.value) : step.value;
    if (size >> 57 != 0) return LS_UNREADABLE_MALFORMED;
    const bool cut = size > LS_VARIABLE_MAX_BYTES;
    if (cut) size = LS_VARIABLE_MAX_BYTES;
    if (size != 0) {
      const ls_outcome outcome = fetch(address, size, bytes);
      if (outcome != LS_LABELLED) return outcome;
    }
    if (cut) seen_.flags |= LS_TRUNCATED_BYTES;
    emit(step, bytes);
    return LS_LABELLED;
  }

  // A label needs room for the largest one.
  bool has_room() {
    if (used_ + 4 + LS_VARIABLE_MAX_BYTES + 1 <= LS_MAX_LABEL_BYTES) return true;
    seen_.flags |= LS_TRUNCATED_LABELS;
    return false;
  }

  void emit(const ls_preset_step& step, std::span<const std::byte> bytes) {
    if (step.op != LS_PRESET_EMIT_TEXT && !has_room()) return;
    used_ += 4 + bytes.size();
    std::string value;
    switch (step.size) {
      case LS_VARIABLE_UNSIGNED:
        value = std::to_string(number_of(bytes, false));
        break;
      case LS_VARIABLE_SIGNED:
        value = std::to_string(static_cast<std::int64_t>(number_of(bytes, true)));
        break;
      case LS_VARIABLE_HEX:
        value = hex_text(bytes);
        break;
      case LS_VARIABLE_TEXT:
      case LS_VARIABLE_ARRAY:
        value = bytes_text(bytes, true);
        break;
      default:
        value = bytes_text(bytes, false);
    }
    const std::string key = "label" + std::to_string(step.to);
    const bool known = std::ranges::find(seen_.labels, key, &Label::key) != seen_.labels.end();
    if (known) {
      seen_.flags |= LS_DUPLICATE_KEY;
    } else {
      seen_.labels.push_back({key, value, 0});
    }
  }

  const ls_preset_program& program_;
  const FakeMemory& memory_;
  Address located_;
  std::string_view name_;
  std::array<std::uint64_t, LS_PRESET_SLOTS> slots_{};
  std::array<std::vector<std::byte>, LS_PRESET_BLOCKS> blocks_;
  std::size_t used_ = sizeof(ls_preset_labels);
  Expected seen_;
};

PresetPlan plan_of(std::span<const ls_preset_step> steps, bool only_main_thread = false) {
  PresetPlan plan;
  plan.name = "test";
  REQUIRE(steps.size() <= LS_PRESET_STEPS);
  plan.program.count = static_cast<std::uint32_t>(steps.size());
  std::ranges::copy(steps, plan.program.step);
  for (int i = 0; i < LS_PRESET_LABELS; ++i) plan.labels.push_back({"label" + std::to_string(i)});
  plan.only_main_thread = only_main_thread;
  return plan;
}

ThreadState thread_state(const PresetPlans* presets, bool first = false,
                         std::string_view name = {}) {
  ThreadState thread;
  thread.presets = presets;
  thread.name = name;
  thread.thread_pointer = kThreadPointer;
  thread.tid = Tid{static_cast<int>(kThreadNumber)};
  thread.first = first;
  return thread;
}

ls_preset_step random_label(Chance& chance) {
  ls_preset_step step{};
  step.to = chance.small(LS_PRESET_LABELS);
  step.from = chance.small(4);
  constexpr std::array<std::int32_t, 4> kWidths{1, 2, 4, 8};
  switch (chance.below(6)) {
    case 5:
      return {LS_PRESET_EMIT_NAME, step.to, 0, LS_VARIABLE_ARRAY, 0, 0};
    case 0:
      step.op = LS_PRESET_EMIT;
      step.size = chance.one_in(2) ? LS_VARIABLE_UNSIGNED : LS_VARIABLE_SIGNED;
      step.offset = kWidths[chance.below(4)];
      return step;
    case 1:
      step.op = LS_PRESET_EMIT_FIELD;
      step.size = chance.one_in(2) ? LS_VARIABLE_HEX : LS_VARIABLE_ARRAY;
      step.value = 1 + chance.below(LS_VARIABLE_MAX_BYTES);
      step.offset = static_cast<std::int32_t>(chance.below(LS_PRESET_BLOCK_BYTES - step.value + 1));
      return step;
    case 2:
      step.op = LS_PRESET_EMIT_TEXT;
      step.size = LS_VARIABLE_TEXT;
      return step;
    case 3:
      step.op = LS_PRESET_EMIT_TEXT;
      step.size = chance.one_in(2) ? LS_VARIABLE_HEX : LS_VARIABLE_ARRAY;
      step.value = 1 + chance.below(LS_VARIABLE_MAX_BYTES);
      return step;
    default:
      step.op = LS_PRESET_EMIT_TEXT;
      step.size = LS_VARIABLE_SLICE;
      step.value = 4 + chance.below(4);
      return step;
  }
}

// A step that mostly leads somewhere: slots 0 to 3 have addresses, 4 to 7 small numbers.
ls_preset_step random_step(Chance& chance) {
  constexpr std::array<std::uint8_t, 4> kWidths{1, 2, 4, 8};
  ls_preset_step step{};
  const std::uint8_t address = chance.small(4);
  const auto number = static_cast<std::uint8_t>(4 + chance.small(chance.one_in(6) ? 12 : 4));
  switch (chance.below(12)) {
    case 0:
      return {LS_PRESET_SET,
              address,
              0,
              0,
              0,
              chance.one_in(30) ? ~0ULL >> chance.below(30) : chance.place()};
    case 1:
      return {LS_PRESET_SET, number, 0, 0, 0, chance.below(300)};
    case 2:
      return {LS_PRESET_ADD, address, chance.small(4), 0, 0, chance.below(64)};
    case 3:
      return {LS_PRESET_SUM, address, chance.small(4), 0, 0, 4 + chance.below(2)};
    case 4:
      // Every word of the arena that is 16-aligned has the address of another place.
      step = {LS_PRESET_READ, address, address, 8, 0, 0};
      if (chance.one_in(2)) step.offset = static_cast<std::int32_t>(chance.below(32)) - 16;
      return step;
    case 5:
      return {LS_PRESET_READ,
              number,
              address,
              static_cast<std::uint8_t>(kWidths[chance.below(4)] |
                                        (chance.one_in(2) ? LS_PRESET_SIGNED : 0)),
              static_cast<std::int32_t>(chance.below(100)),
              0};
    case 6:
      return {
          LS_PRESET_BLOCK, address, chance.small(4), 0, 0, 1 + chance.below(LS_PRESET_BLOCK_BYTES)};
    case 7:
      step = {LS_PRESET_FIELD,
              number,
              address,
              static_cast<std::uint8_t>(kWidths[chance.below(4)] |
                                        (chance.one_in(2) ? LS_PRESET_SIGNED : 0)),
              0,
              0};
      step.offset = static_cast<std::int32_t>(chance.below(LS_PRESET_BLOCK_BYTES - 7));
      return step;
    case 8:
      return {LS_PRESET_FIND,
              address,
              chance.small(4),
              static_cast<std::uint8_t>(1 + chance.below(LS_PRESET_NODES)),
              8,
              chance.below(3)};
    case 9:
      switch (chance.below(3)) {
        case 0:
          return {LS_PRESET_THREAD, address, 0, 0, 0, chance.below(64) - 32};
        case 1:
          return {LS_PRESET_LOCATED, address, 0, 0, 0, chance.below(64)};
        default:
          return {LS_PRESET_NUMBER, number, 0, 0, 0, 0};
      }
    case 10:
      step.op = chance.one_in(4) ? LS_PRESET_NEED : LS_PRESET_UNLESS;
      step.from = number;
      step.size = static_cast<std::uint8_t>(1 + chance.below(LS_PRESET_COMPARISONS_END - 1));
      step.to = static_cast<std::uint8_t>(4 + chance.small(4));
      if (chance.one_in(2)) step.size |= LS_PRESET_WITH_SLOT;
      step.value = chance.one_in(4) ? ~0ULL : chance.below(4);
      return step;
    default:
      return random_label(chance);
  }
}

std::vector<ls_preset_step> random_program(Chance& chance) {
  std::vector<ls_preset_step> steps;
  for (std::uint8_t i = 0; i < 4; ++i)
    steps.push_back({LS_PRESET_SET, i, 0, 0, 0, chance.place() & ~Address{15}});
  const std::uint64_t count = 4 + chance.below(chance.one_in(4) ? LS_PRESET_STEPS - 5 : 12);
  while (steps.size() < count) steps.push_back(random_step(chance));
  // Sometimes there are more labels than fit.
  if (chance.one_in(20) && steps.size() < LS_PRESET_STEPS / 2) {
    steps.push_back({LS_PRESET_BLOCK, 0, 0, 0, 0, LS_PRESET_BLOCK_BYTES});
    for (std::uint8_t i = 0; i < LS_PRESET_LABELS; ++i) {
      steps.push_back({LS_PRESET_EMIT_FIELD, i, 0, LS_VARIABLE_HEX, i, LS_VARIABLE_MAX_BYTES});
    }
  }
  steps.push_back(random_label(chance));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].op != LS_PRESET_UNLESS) continue;
    steps[i].offset =
        static_cast<std::int32_t>(chance.below(std::min<std::size_t>(6, steps.size() - i)));
  }
  return steps;
}

void fill_arena(Chance& chance, FakeMemory& memory) {
  for (Address at = kArena; at < kArena + kArenaPages * FakeMemory::kPage; at += 16) {
    Address next = chance.place() & ~Address{15};
    if (chance.one_in(12)) next = 0;
    if (chance.one_in(400)) next = ~0ULL >> chance.below(20);
    memory.put(at, next);
    memory.put(at + 8, chance.one_in(3) ? 0x6c6c'6c6c'6c6c'6c6c : chance.below(4));
  }
  memory.map(kThreadPointer - 64, 128);
}

}  // namespace

TEST_CASE("preset: the kernel side and the reader do what the description of a program says") {
  unsigned labelled = 0;
  unsigned stale = 0;
  unsigned not_resident = 0;
  unsigned malformed = 0;
  unsigned cut = 0;
  unsigned full = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    Chance chance(seed);
    FakeMemory memory;
    fill_arena(chance, memory);
    if (chance.one_in(3)) memory.unmap_page(chance.place());
    PresetPlan plan = plan_of(random_program(chance));
    const auto problem = refuse_program(plan.program);
    INFO("seed " << seed << ": " << problem.value_or(""));
    REQUIRE(!problem);
    const Address located = chance.place();
    plan.base.offset = static_cast<std::int64_t>(located);
    const std::string_view name = chance.one_in(4) ? std::string_view() : kThreadName;
    std::ranges::fill(fake_thread_name, '\0');
    std::ranges::copy(name, fake_thread_name);
    const Expected expected = Model(plan.program, memory, located, name).run();
    PresetPlans presets;
    const ls_tls_recipe recipe = presets.add(plan);

    const Observation reader = observe({&recipe, 1}, thread_state(&presets, false, name), memory);
    native_soil(0xa5);
    const Observation kernel = NativeReader(memory).observe(
        {&recipe, 1}, kThreadPointer, {.presets = &presets}, kThreadNumber);
    for (const Observation* seen : {&reader, &kernel}) {
      INFO((seen == &reader ? "the reader" : "the kernel side"));
      REQUIRE(outcome_name(seen->outcome) == outcome_name(expected.outcome));
      REQUIRE(seen->flags == expected.flags);
      REQUIRE(seen->labels == expected.labels);
    }
    labelled += expected.outcome == LS_LABELLED;
    stale += expected.outcome == LS_UNREADABLE_STALE;
    not_resident += expected.outcome == LS_UNREADABLE_NOT_RESIDENT;
    malformed += expected.outcome == LS_UNREADABLE_MALFORMED;
    cut += (expected.flags & LS_TRUNCATED_BYTES) != 0;
    full += (expected.flags & LS_TRUNCATED_LABELS) != 0;
  }
  // This shows that the random programs end in each way.
  CAPTURE(labelled, stale, not_resident, malformed, cut, full);
  CHECK(labelled > 1000);
  CHECK(stale > 300);
  CHECK(not_resident > 300);
  CHECK(malformed > 50);
  CHECK(cut > 50);
  CHECK(full > 5);
}

namespace {

// PostgreSQL's entry of a backend, in the steps of preset_program.h.
struct StatusEntry {
  static constexpr Address kVariable = kArena + 0x100;  // MyBEEntry
  static constexpr Address kOwnPid = kArena + 0x200;    // MyProcPid
  static constexpr Address kEntry = kArena + 0x1000;
  static constexpr std::int32_t kPid = 4, kState = 232, kQuery = 424;

  static std::vector<ls_preset_step> steps() {
    return {{LS_PRESET_SET, 0, 0, 0, 0, kVariable},
            {LS_PRESET_READ, 0, 0, 8, 0, 0},
            {LS_PRESET_UNLESS, 0, 0, LS_PRESET_NOT_EQUAL, 11, 0},
            {LS_PRESET_BLOCK, 0, 0, 0, 0, 432},
            {LS_PRESET_FIELD, 1, 0, 4, kPid, 0},
            {LS_PRESET_SET, 2, 0, 0, 0, kOwnPid},
            {LS_PRESET_READ, 2, 2, 4, 0, 0},
            {LS_PRESET_NEED, 2, 1, LS_PRESET_EQUAL | LS_PRESET_WITH_SLOT, 0, 0},
            {LS_PRESET_FIELD, 5, 0, 4, 0, 0},
            {LS_PRESET_NEED, 0, 5, LS_PRESET_NO_BIT, 0, 1},
            {LS_PRESET_FIELD, 3, 0, 4, kState, 0},
            {LS_PRESET_UNLESS, 0, 3, LS_PRESET_EQUAL, 2, 2},
            {LS_PRESET_FIELD, 4, 0, 8, kQuery, 0},
            {LS_PRESET_EMIT, 0, 4, LS_VARIABLE_SIGNED, 8, 0}};
  }

  StatusEntry() {
    memory.put(kVariable, kEntry);
    memory.put(kOwnPid, std::int32_t{77});
    memory.put(kEntry, std::uint32_t{10});
    memory.put(kEntry + kPid, std::int32_t{77});
    memory.put(kEntry + kState, std::int32_t{2});
    memory.put(kEntry + kQuery, std::int64_t{-5});
  }

  Observation seen_by_both(bool only_main_thread = false, bool first = true) {
    PresetPlans presets;
    const ls_tls_recipe recipe = presets.add(plan_of(steps(), only_main_thread));
    fake_first_thread = first;
    const Observation kernel =
        NativeReader(memory).observe({&recipe, 1}, kThreadPointer, {.presets = &presets});
    Observation reader = observe({&recipe, 1}, thread_state(&presets, first), memory);
    REQUIRE(outcome_name(kernel.outcome) == outcome_name(reader.outcome));
    REQUIRE(kernel.labels == reader.labels);
    return reader;
  }

  FakeMemory memory;
};

}  // namespace

TEST_CASE("preset: each check of a status entry decides", "[status entry]") {
  StatusEntry entry;
  SECTION("all hold") {
    const Observation seen = entry.seen_by_both();
    REQUIRE(seen.outcome == LS_LABELLED);
    CHECK(seen.labels == LabelSet{{"label0", "-5", 0}});
  }
  SECTION("there is no entry yet") {
    entry.memory.put(StatusEntry::kVariable, Address{0});
    CHECK(entry.seen_by_both().outcome == LS_UNLABELLED);
  }
  SECTION("it is still another process's") {
    entry.memory.put(StatusEntry::kEntry + StatusEntry::kPid, std::int32_t{76});
    CHECK(entry.seen_by_both().outcome == LS_UNREADABLE_STALE);
  }
  SECTION("it is being written") {
    entry.memory.put(StatusEntry::kEntry, std::uint32_t{11});
    CHECK(entry.seen_by_both().outcome == LS_UNREADABLE_STALE);
  }
  SECTION("the query has ended") {
    entry.memory.put(StatusEntry::kEntry + StatusEntry::kState, std::int32_t{1});
    CHECK(entry.seen_by_both().outcome == LS_UNLABELLED);
  }
  SECTION("it is not there") {
    entry.memory.unmap_page(StatusEntry::kEntry);
    CHECK(entry.seen_by_both().outcome == LS_UNREADABLE_NOT_RESIDENT);
  }
  SECTION("only the first thread has its labels") {
    CHECK(entry.seen_by_both(true, true).outcome == LS_LABELLED);
    CHECK(entry.seen_by_both(true, false).outcome == LS_UNLABELLED);
    CHECK(entry.seen_by_both(false, false).outcome == LS_LABELLED);
  }
}

TEST_CASE("preset: a status entry takes three reads") {
  StatusEntry entry;
  PresetPlans presets;
  const ls_tls_recipe recipe = presets.add(plan_of(StatusEntry::steps()));
  NativeReader reader(entry.memory);
  entry.memory.count_from_zero();
  REQUIRE(reader.observe({&recipe, 1}, kThreadPointer, {.presets = &presets}).outcome ==
          LS_LABELLED);
  CHECK(entry.memory.reads() == 3);
}

TEST_CASE("preset: what one thread leaves in a block is not seen in the next") {
  StatusEntry entry;
  PresetPlans presets;
  const ls_tls_recipe full = presets.add(plan_of(StatusEntry::steps()));
  // This program uses the block without having read it.
  const std::vector<ls_preset_step> steps{{LS_PRESET_FIELD, 4, 0, 8, StatusEntry::kQuery, 0},
                                          {LS_PRESET_EMIT, 0, 4, LS_VARIABLE_SIGNED, 8, 0},
                                          {LS_PRESET_EMIT_FIELD, 1, 0, LS_VARIABLE_ARRAY, 0, 8}};
  const ls_tls_recipe bare = presets.add(plan_of(steps));
  NativeReader reader(entry.memory);
  const Meanings by{.presets = &presets};
  REQUIRE(reader.observe({&full, 1}, kThreadPointer, by).outcome == LS_LABELLED);
  CHECK(reader.observe({&bare, 1}, kThreadPointer, by).labels == LabelSet{{"label0", "0", 0}});
}

TEST_CASE("preset: a recipe whose program is not known says so") {
  StatusEntry entry;
  PresetPlans presets;
  ls_tls_recipe recipe = presets.add(plan_of(StatusEntry::steps()));
  recipe.parameters[0] ^= 1;
  const Meanings by{.presets = &presets};
  CHECK(NativeReader(entry.memory).observe({&recipe, 1}, kThreadPointer, by).outcome ==
        LS_UNREADABLE_NO_RECIPE);
  CHECK(observe({&recipe, 1}, thread_state(&presets), entry.memory).outcome ==
        LS_UNREADABLE_NO_RECIPE);
}
