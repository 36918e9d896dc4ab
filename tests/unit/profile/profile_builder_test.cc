// ProfileBuilder: equal samples become one row, different ones do not, and caches end with what
// they describe.
#include "cli/profile/profile_builder.h"

#include <algorithm>
#include <array>

#include "support/catch.h"
#include "unit/profile/fake_process.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

struct Input {
  std::vector<std::uint64_t> user{0x2000, 0x3001};
  std::vector<std::uint64_t> kernel;
  ls_stack_end end = LS_STACK_CHAIN_ENDED;
  std::vector<std::byte> labels;
  int tid = 1;
  std::uint64_t time = 5;
  ls_outcome outcome = LS_LABELLED;
  std::uint32_t flags = 0;
  bool has_kinds = true;
  bool by_tables = false;
};

struct ScriptProcess : FakeProcess {
  int asked = 0;
  Location place_in_script(std::uint64_t value) override {
    ++asked;
    Location place = FakeProcess::place_in_script(value);
    if (value == 5) place.lines.emplace_back().function = "handler";
    return place;
  }
};

void add(ProfileBuilder& builder, ProcessContext& process, const Input& input) {
  Sample view;
  view.time_ns = input.time;
  view.process = {Pid{1}, 1};
  view.tid = Tid{input.tid};
  view.comm = "worker";
  view.stack = {input.kernel, input.user, input.has_kinds, input.end, input.by_tables};
  view.outcome = input.outcome;
  view.flags = input.flags;
  view.label_bytes = input.labels;
  builder.add(view, process);
}

}  // namespace

TEST_CASE("profile_builder: equal samples are one row that counts them") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = bytes({'a'});
  for (int i = 0; i < 3; ++i) {
    input.time += 10;
    add(builder, process, input);
  }
  CHECK(builder.samples() == 3);
  CHECK(builder.labelled() == 3);
  Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 1);
  CHECK(profile.rows[0].count == 3);
  CHECK(profile.rows[0].time_ns == 0);
}

TEST_CASE("profile_builder: rows are in the order of their first samples, and none is lost") {
  constexpr std::size_t kRows = 30;
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  // Each pass meets one new stack more at its end, and those before it once more.
  for (std::size_t most = 1; most <= kRows; ++most) {
    for (std::size_t i = 0; i < most; ++i) {
      input.user = {0x2000 + i};
      add(builder, process, input);
    }
  }
  const Profile profile = builder.take();
  REQUIRE(profile.rows.size() == kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    CHECK(profile.rows[i].count == kRows - i);
    CHECK(profile.locations[profile.stacks[profile.rows[i].stack].frames[0]].address == 0x2000 + i);
  }
}

TEST_CASE("profile_builder: a sample weighs what it brings along, and is of its own kind") {
  constexpr ls_sample_kind kKinds[] = {LS_ON_CPU, LS_WAITING};
  ProfileBuilder builder(0, 1000, {}, kKinds);
  FakeProcess process;
  const auto sample = [&](ls_sample_kind kind, std::uint64_t weight_ns, std::uint64_t thread_ns) {
    Sample view;
    view.process = {Pid{1}, 1};
    view.tid = Tid{1};
    view.kind = kind;
    view.weight_ns = weight_ns;
    view.thread_ns = thread_ns;
    builder.add(view, process);
  };
  sample(LS_ON_CPU, 0, 100);
  sample(LS_WAITING, 7'000'000'000, 100);
  sample(LS_WAITING, 5, 100);
  sample(LS_ON_CPU, 0, 400);
  builder.accounts().end_thread({Pid{1}, 1}, Tid{1}, 1000);
  const Profile profile = builder.take();
  REQUIRE(profile.values == std::vector{value_of_kind(LS_ON_CPU), value_of_kind(LS_WAITING)});
  // The samples are equal but for their kind.
  REQUIRE(profile.rows.size() == 2);
  CHECK(profile.rows[0].value == 0);
  CHECK(profile.rows[0].weight_ns == 1000);
  CHECK(profile.rows[1].value == 1);
  CHECK(profile.rows[1].weight_ns == 7'000'000'005);
  CHECK(profile.rows[1].count == 2);
  CHECK(profile.ledger.time.attributed_ns == 7'000'001'005);
  CHECK(profile.ledger.time.unsampled_ns == 0);
}

TEST_CASE("profile_builder: where the kernel knows no time, periods are shared out beside waits") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Sample view;
  view.process = {Pid{1}, 1};
  view.tid = Tid{1};
  builder.add(view, process);
  view.kind = LS_RUNNABLE;
  view.weight_ns = 33;
  builder.add(view, process);
  const Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 2);
  CHECK(profile.values.at(profile.rows[1].value) == value_of_kind(LS_RUNNABLE));
  CHECK(profile.rows[0].weight_ns == 1000);
  CHECK(profile.rows[1].weight_ns == 33);
  CHECK(profile.ledger.time.attributed_ns == 1033);
}

TEST_CASE("profile_builder: a lossless recording keeps each sample with its time") {
  ProfileBuilder builder(SIZE_MAX, 1000);
  FakeProcess process;
  Input input;
  add(builder, process, input);
  input.time = 6;
  add(builder, process, input);
  Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 2);
  CHECK(profile.rows[0].time_ns == 5);
  CHECK(profile.rows[1].time_ns == 6);
  CHECK(profile.stacks.size() == 1);
}

TEST_CASE("profile_builder: beyond the number of timed samples, equal ones share a row") {
  ProfileBuilder builder(2, 1000);
  FakeProcess process;
  Input input;
  for (int i = 0; i < 5; ++i) {
    input.time = 10 + i;
    add(builder, process, input);
  }
  Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 3);
  CHECK(profile.rows[1].time_ns == 11);
  CHECK(profile.rows[2].time_ns == 0);
  CHECK(profile.rows[2].count == 3);
}

TEST_CASE(
    "profile_builder: thread, stack, its end, labels, outcome and flags each make a row of their "
    "own") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input base;
  add(builder, process, base);
  Input other = base;
  other.tid = 2;
  add(builder, process, other);
  other = base;
  other.user.push_back(0x4000);
  add(builder, process, other);
  other = base;
  other.labels = bytes({'a'});
  add(builder, process, other);
  other = base;
  other.outcome = LS_UNREADABLE_NOT_RESIDENT;
  add(builder, process, other);
  other = base;
  other.flags = LS_NULL_VALUE;
  add(builder, process, other);
  other = base;
  other.end = LS_STACK_ROOT;
  add(builder, process, other);
  CHECK(builder.take().rows.size() == 7);
}

TEST_CASE("profile_builder: return addresses point into the call, the leaf stays where it is") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.kernel = {0xffff000000000010, 0xffff000000000020};
  add(builder, process, input);
  Profile profile = builder.take();
  REQUIRE(profile.stacks.size() == 1);
  std::vector<Address> addresses;
  for (Index location : profile.stacks[0].frames)
    addresses.push_back(profile.locations[location].address);
  CHECK(addresses == std::vector<Address>{0xffff000000000010, 0xffff00000000001f, 0x2000, 0x3000});
  CHECK(profile.locations[profile.stacks[0].frames[0]].module == 99);
  CHECK(profile.locations[profile.stacks[0].frames[2]].module == 7);
}

TEST_CASE("profile_builder: a frame found along a frame pointer is a place of its own") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  add(builder, process, input);
  input.user[1] |= LS_FRAME_BY_FP;
  add(builder, process, input);
  add(builder, process, input);
  const Profile profile = builder.take();
  REQUIRE(profile.stacks.size() == 2);
  REQUIRE(profile.rows.size() == 2);
  const Location& by_table = profile.locations[profile.stacks[0].frames[1]];
  const Location& by_fp = profile.locations[profile.stacks[1].frames[1]];
  CHECK(by_table.kind == LS_FRAME_CODE);
  CHECK(by_fp.kind == LS_FRAME_CODE_BY_FP);
  CHECK(by_fp.address == 0x3000);
  CHECK(by_table.address == 0x3000);
  CHECK(profile.stacks[0].frames[0] == profile.stacks[1].frames[0]);
  CHECK(process.look_ups == 3);
}

TEST_CASE("profile_builder: a stack is cut where it leaves all code") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.user = {0x2000, 0x3001, 0x500, 0x4000};  // below 0x1000 nothing is mapped
  add(builder, process, input);
  input.end = LS_STACK_TOO_DEEP;  // what is left is not
  add(builder, process, input);
  input.end = LS_STACK_CHAIN_ENDED;
  input.user = {0x2000, 0x3001};
  add(builder, process, input);
  Profile profile = builder.take();
  REQUIRE(profile.stacks.size() == 1);
  CHECK(profile.stacks[0].frames.size() == 2);
  CHECK(profile.rows[0].count == 3);
}

TEST_CASE("profile_builder: a frame whose module is not known stays, and its samples are counted") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  process.module = kUnknownModule;
  Input input;
  input.user = {0x2000, 0x3001, 0x4001};
  input.end = LS_STACK_ROOT;
  for (int i = 0; i < 3; ++i) add(builder, process, input);
  process.module = 7;
  ++process.addresses;
  add(builder, process, input);
  CHECK(builder.in_lost_mappings() == 3);
  const Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 2);
  for (const SampleRow& row : profile.rows) {
    const Stack& stack = profile.stacks[row.stack];
    CHECK(stack.end == LS_STACK_ROOT);
    REQUIRE(stack.frames.size() == 3);
    for (const Index frame : stack.frames)
      CHECK(profile.locations[frame].module == (row.count == 3 ? kNoIndex : 7));
  }
}

TEST_CASE("profile_builder: a stack goes on behind functions of a script") {
  ProfileBuilder builder(0, 1000);
  ScriptProcess process;
  Input input;
  const std::uint64_t handler = Frame{LS_FRAME_SCRIPT, 5}.word();
  const std::uint64_t nowhere = Frame{LS_FRAME_SCRIPT, 0}.word();
  input.user = {0x2000, handler, nowhere, 0x4001};
  add(builder, process, input);
  input.user = {handler, 0x4001};
  add(builder, process, input);
  const Profile profile = builder.take();
  REQUIRE(profile.stacks.size() == 2);
  const std::vector<Index>& frames = profile.stacks[0].frames;
  REQUIRE(frames.size() == 4);
  CHECK(profile.locations[frames[1]].kind == LS_FRAME_SCRIPT);
  CHECK(profile.locations[frames[1]].address == 5);
  CHECK(profile.locations[frames[1]].lines.at(0).function == "handler");
  CHECK(profile.locations[frames[2]].module == kNoIndex);
  CHECK(profile.locations[frames[3]].address == 0x4000);
  CHECK(profile.stacks[1].frames == std::vector<Index>{frames[1], frames[3]});
  CHECK(process.asked == 2);
}

TEST_CASE("profile_builder: addresses without a kind are no functions of a script") {
  ProfileBuilder builder(0, 1000);
  ScriptProcess process;
  Input input;
  input.has_kinds = false;
  input.user = {0x2000, Frame{LS_FRAME_SCRIPT, 5}.word() + 1};
  process.module = kUnknownModule;
  add(builder, process, input);
  const Profile profile = builder.take();
  REQUIRE(profile.stacks[0].frames.size() == 2);
  CHECK(profile.locations[profile.stacks[0].frames[1]].kind == LS_FRAME_CODE);
  CHECK(process.asked == 0);
}

TEST_CASE("profile_builder: by tables, the caller of code that is not known is not known either") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.user = {0x2000, 0x3001, 0x4001};
  input.end = LS_STACK_ROOT;
  input.by_tables = true;
  add(builder, process, input);
  process.module = kUnknownModule;
  ++process.addresses;
  add(builder, process, input);
  const Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 2);
  for (const SampleRow& row : profile.rows) {
    const Stack& stack = profile.stacks[row.stack];
    const bool is_known = profile.locations[stack.frames[0]].module != kNoIndex;
    CHECK(stack.end == (is_known ? LS_STACK_ROOT : LS_STACK_NO_MAPPING));
    CHECK(stack.frames.size() == (is_known ? 3 : 1));
  }
}

TEST_CASE("profile_builder: the leaf stays, wherever it is") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.user = {0x500, 0x3001};
  add(builder, process, input);
  CHECK(builder.take().stacks[0].frames.size() == 2);
}

TEST_CASE("profile_builder: where kernel frames end makes a difference") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.kernel = {0x2000};
  input.user = {0x3001};
  add(builder, process, input);
  input.kernel = {};
  input.user = {0x2000, 0x3001};
  add(builder, process, input);
  CHECK(builder.take().stacks.size() == 2);
}

TEST_CASE("profile_builder: after the mappings changed the same address is another place") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  add(builder, process, input);
  process.module = 8;
  ++process.addresses;
  add(builder, process, input);
  Profile profile = builder.take();
  REQUIRE(profile.stacks.size() == 2);
  CHECK(profile.locations[profile.stacks[1].frames[0]].module == 8);
}

TEST_CASE("profile_builder: equal label bytes are decoded once, flags of decoding stay") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = bytes({'a', 0xff});
  add(builder, process, input);
  add(builder, process, input);
  CHECK(process.decodings == 1);
  Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 1);
  CHECK(profile.rows[0].flags == LS_DUPLICATE_KEY);
}

TEST_CASE("profile_builder: a sample of whose values nothing is a label is unlabelled") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = {FakeProcess::kNothing};
  add(builder, process, input);
  CHECK(builder.labelled() == 0);
  CHECK(builder.undecoded()[LS_UNLABELLED] == 1);
  Profile profile = builder.take();
  REQUIRE(profile.rows.size() == 1);
  CHECK(profile.rows[0].outcome == LS_UNLABELLED);
}

TEST_CASE("profile_builder: label sets are sets: their order in memory makes no difference") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = bytes({'a', 'b'});
  add(builder, process, input);
  input.labels = bytes({'b', 'a'});
  add(builder, process, input);
  CHECK(builder.take().label_sets.size() == 1);
}

TEST_CASE("profile_builder: publishers that changed places are kept apart") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = bytes({'a'});
  add(builder, process, input);
  process.shift = 1;
  ++process.publishers;
  add(builder, process, input);
  Profile profile = builder.take();
  REQUIRE(profile.label_sets.size() == 2);
  CHECK(profile.label_sets[0][0].publisher == 0);
  CHECK(profile.label_sets[1][0].publisher == 1);
}

TEST_CASE("profile_builder: a thread keeps the last name it had") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  add(builder, process, input);
  Sample renamed;
  renamed.process = {Pid{1}, 1};
  renamed.tid = Tid{1};
  renamed.comm = "renamed";
  builder.add(renamed, process);
  // Of a wait that has not ended, the name may not be known.
  renamed.comm = {};
  builder.add(renamed, process);
  Profile profile = builder.take();
  REQUIRE(profile.threads.size() == 1);
  CHECK(profile.threads[0].name == "renamed");
}

TEST_CASE("byte_cache: finds what was put in, and forgets rather than grows without bound") {
  ByteCache cache;
  CHECK(cache.index_of("one") == kNoIndex);
  cache.index_of("one") = 1;
  CHECK(cache.index_of("one") == 1);
  CHECK(cache.index_of("two") == kNoIndex);
  CHECK(cache.index_of("") == kNoIndex);
  cache.index_of("") = 3;
  CHECK(cache.index_of("") == 3);
  CHECK(cache.index_of(std::string_view("\0", 1)) == kNoIndex);
  std::string large(std::size_t{32} << 20, 'x');
  for (char c : {'a', 'b', 'c'}) {
    large[0] = c;
    cache.index_of(large) = 2;
  }
  CHECK(cache.index_of("one") == kNoIndex);
  CHECK(cache.index_of(large) == 2);
}
