// ProfileBuilder: equal samples become one row, different ones do not, and caches end with what
// they describe.
#include "cli/profile/profile_builder.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

int decodings = 0;

// In the encoding of these tests each byte is a value of the label "k"; 0xff sets a flag.
// A value of which its source makes no label.
constexpr std::byte kNothing{0xfe};

Observation decode_bytes(std::span<const std::byte> bytes) {
  ++decodings;
  Observation observation;
  observation.outcome = LS_LABELLED;
  if (bytes.size() == 1 && bytes[0] == kNothing) return {};
  for (std::byte byte : bytes) {
    if (byte == std::byte{0xff}) {
      observation.flags |= LS_DUPLICATE_KEY;
    } else {
      observation.labels.push_back({"k", std::string(1, static_cast<char>(byte)), 0});
    }
  }
  return observation;
}

class FakeProcess final : public ProcessContext {
 public:
  Index module_at(Address address) override {
    ++look_ups;
    return address < 0x1000 ? kNoIndex : module;
  }
  Index kernel_module() override { return 99; }
  Observation decode(std::span<const std::byte> bytes) override {
    Observation observation = decode_bytes(bytes);
    for (Label& label : observation.labels) label.key = key;
    return observation;
  }
  std::uint64_t address_epoch() const override { return addresses; }
  std::uint64_t publisher_epoch() const override { return publishers; }
  std::uint8_t publisher(std::uint8_t index) const override {
    return static_cast<std::uint8_t>(index + shift);
  }
  Index module = 7;
  std::string key = "k";
  std::uint64_t addresses = 0;
  std::uint64_t publishers = 0;
  std::uint8_t shift = 0;
  int look_ups = 0;
};

struct Input {
  std::vector<std::uint64_t> user{0x2000, 0x3001};
  std::vector<std::uint64_t> kernel;
  ls_stack_end end = LS_STACK_CHAIN_ENDED;
  std::vector<std::byte> labels;
  int tid = 1;
  std::uint64_t time = 5;
  ls_outcome outcome = LS_LABELLED;
  std::uint32_t flags = 0;
};

void add(ProfileBuilder& builder, ProcessContext& process, const Input& input) {
  Sample view;
  view.time_ns = input.time;
  view.pid = Pid{1};
  view.tid = Tid{input.tid};
  view.comm = "worker";
  view.stack = {input.kernel, input.user, input.end};
  view.outcome = input.outcome;
  view.flags = input.flags;
  view.label_bytes = input.labels;
  builder.add(view, process);
}

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
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
  Profile profile = builder.take(0, 0);
  REQUIRE(profile.rows.size() == 1);
  CHECK(profile.rows[0].count == 3);
  CHECK(profile.rows[0].time_ns == 0);
}

TEST_CASE("profile_builder: a sample weighs what it brings along, and is of its own kind") {
  constexpr ls_sample_kind kKinds[] = {LS_ON_CPU, LS_WAITING};
  ProfileBuilder builder(0, 1000, {}, kKinds);
  FakeProcess process;
  const auto sample = [&](ls_sample_kind kind, std::uint64_t weight_ns, std::uint64_t thread_ns) {
    Sample view;
    view.pid = Pid{1};
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
  builder.accounts().end_thread(Pid{1}, Tid{1}, 1000);
  const Profile profile = builder.take(0, 0);
  REQUIRE(profile.values == std::vector{time_value(LS_ON_CPU), time_value(LS_WAITING)});
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

TEST_CASE("profile_builder: a wait has the label of its reason, unless its thread has set one") {
  constexpr ls_sample_kind kKinds[] = {LS_WAITING, LS_RUNNABLE};
  ProfileBuilder builder(0, 1000, {}, kKinds);
  FakeProcess process;
  const auto wait = [&](ls_sample_kind kind, std::int32_t system_call,
                        std::span<const std::byte> labels) {
    Sample view;
    view.pid = Pid{1};
    view.tid = Tid{1};
    view.kind = kind;
    view.weight_ns = 10;
    view.system_call = system_call;
    view.label_bytes = labels;
    builder.add(view, process);
  };
  const std::vector<std::byte> labels = bytes({'a'});
  wait(LS_WAITING, SYS_read, labels);
  wait(LS_WAITING, SYS_write, labels);
  wait(LS_WAITING, SYS_read, labels);
  wait(LS_WAITING, -1, {});
  wait(LS_RUNNABLE, -1, {});
  wait(LS_WAITING, 100'000, {});
  process.key = "wait";
  ++process.publishers;
  wait(LS_WAITING, SYS_read, labels);
  const Profile profile = builder.take(0, 0);
  std::vector<std::string> reasons;
  for (const SampleRow& row : profile.rows) {
    const LabelSet& set = profile.label_sets[row.label_set];
    const auto label = std::ranges::find(set, "wait", &Label::key);
    REQUIRE(label != set.end());
    CHECK(std::ranges::count(set, "wait", &Label::key) == 1);
    reasons.push_back(label->value + "*" + std::to_string(row.count));
  }
  CHECK(reasons == std::vector<std::string>{"read*2", "write*1", "page fault*1", "preempted*1",
                                            "system call 100000*1", "a*1"});
}

namespace {

constexpr ls_sample_kind kWaitKinds[] = {LS_WAITING, LS_RUNNABLE};
constexpr int kRead = SYS_read;

Sample a_wait(std::uint64_t weight_ns, std::span<const std::byte> labels = {}) {
  Sample sample;
  sample.pid = Pid{1};
  sample.tid = Tid{1};
  sample.kind = LS_WAITING;
  sample.system_call = kRead;
  sample.outcome = labels.empty() ? LS_UNLABELLED : LS_LABELLED;
  sample.label_bytes = labels;
  sample.weight_ns = weight_ns;
  sample.time_ns = 1;
  return sample;
}

WaitTotal a_total(std::uint64_t labels, std::uint64_t time_ns, ls_sample_kind kind = LS_WAITING) {
  return {.pid = Pid{1},
          .kind = kind,
          .system_call = kRead,
          .labels = labels,
          .time_ns = time_ns,
          .count = 3};
}

std::vector<std::uint64_t> weights_of(const Profile& profile) {
  std::vector<std::uint64_t> weights;
  for (const SampleRow& row : profile.rows) weights.push_back(row.weight_ns);
  return weights;
}

std::uint8_t no_publisher(Pid) { return 0; }

}  // namespace

TEST_CASE("profile_builder: weights of chance are fitted to the total, to the nanosecond") {
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  for (const std::uint64_t weight : {10, 30, 7, 3}) builder.add(a_wait(weight), process);
  const WaitTotal totals[] = {a_total(LS_UNLABELLED, 99), a_total(kUnknownLabels, 5, LS_RUNNABLE)};
  builder.add_totals(totals, no_publisher);
  const Profile profile = builder.take(0, 0);
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{19, 62, 13, 5});
  CHECK(profile.ledger.time.attributed_ns == 99);
  // No wait for a processor was drawn, and of what labels they were is not known.
  CHECK(profile.ledger.time.unsampled_ns == 5);
  REQUIRE(profile.waits.size() == 1);
  CHECK(profile.waits[0].time_ns == 99);
}

TEST_CASE("profile_builder: each label set has the time of its own total") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  constexpr std::byte kB[] = {std::byte{'b'}};
  constexpr std::byte kC[] = {std::byte{'c'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(10, kA), process);
  builder.add(a_wait(20, kA), process);
  builder.add(a_wait(10, kB), process);
  builder.add(a_wait(4), process);  // its labels were another thread's work: no total has them
  builder.name_labels(1000, kA, process);
  builder.name_labels(1001, kB, process);
  builder.name_labels(1002, kC, process);
  const WaitTotal totals[] = {a_total(1000, 60), a_total(1001, 7), a_total(1002, 11),
                              a_total(999'999, 3)};  // this number came with a record that was lost
  builder.add_totals(totals, no_publisher);
  const Profile profile = builder.take(0, 0);
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{20, 40, 7, 3, 11});
  // "c" was never sampled: its time has a row that counts no sample, and a thread without a number.
  const SampleRow& unsampled = profile.rows.back();
  CHECK(unsampled.count == 0);
  CHECK(unsampled.stack == kNoIndex);
  CHECK(profile.threads.at(unsampled.thread).tid == Tid{0});
  CHECK(profile.threads.at(unsampled.thread).pid == Pid{1});
  CHECK(profile.label_sets.at(unsampled.label_set).front().value == "c");
  CHECK(profile.ledger.time.attributed_ns == 81);
  CHECK(profile.ledger.time.unsampled_ns == 0);
}

TEST_CASE("profile_builder: a wait that has not ended comes beside the total of those that have") {
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  Sample open = a_wait(1000);
  open.flags = LS_STILL_WAITING;
  builder.add(open, process);
  builder.add(a_wait(10), process);
  const WaitTotal totals[] = {a_total(LS_UNLABELLED, 10)};
  builder.add_totals(totals, no_publisher);
  const Profile profile = builder.take(0, 0);
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{1000, 10});
  CHECK(profile.waits.at(0).time_ns == 10);
}

TEST_CASE("profile_builder: where the kernel knows no time, periods are shared out beside waits") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Sample view;
  view.pid = Pid{1};
  view.tid = Tid{1};
  builder.add(view, process);
  view.kind = LS_RUNNABLE;
  view.weight_ns = 33;
  builder.add(view, process);
  const Profile profile = builder.take(0, 0);
  REQUIRE(profile.rows.size() == 2);
  CHECK(profile.values.at(profile.rows[1].value) == time_value(LS_RUNNABLE));
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
  Profile profile = builder.take(0, 0);
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
  Profile profile = builder.take(0, 0);
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
  CHECK(builder.take(0, 0).rows.size() == 7);
}

TEST_CASE("profile_builder: return addresses point into the call, the leaf stays where it is") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.kernel = {0xffff000000000010, 0xffff000000000020};
  add(builder, process, input);
  Profile profile = builder.take(0, 0);
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
  const Profile profile = builder.take(0, 0);
  REQUIRE(profile.stacks.size() == 2);
  REQUIRE(profile.rows.size() == 2);
  const Location& by_table = profile.locations[profile.stacks[0].frames[1]];
  const Location& by_fp = profile.locations[profile.stacks[1].frames[1]];
  CHECK_FALSE(by_table.by_frame_pointer);
  CHECK(by_fp.by_frame_pointer);
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
  Profile profile = builder.take(0, 0);
  REQUIRE(profile.stacks.size() == 1);
  CHECK(profile.stacks[0].frames.size() == 2);
  CHECK(profile.rows[0].count == 3);
}

TEST_CASE("profile_builder: the leaf stays, wherever it is") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.user = {0x500, 0x3001};
  add(builder, process, input);
  CHECK(builder.take(0, 0).stacks[0].frames.size() == 2);
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
  CHECK(builder.take(0, 0).stacks.size() == 2);
}

TEST_CASE("profile_builder: after the mappings changed the same address is another place") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  add(builder, process, input);
  process.module = 8;
  ++process.addresses;
  add(builder, process, input);
  Profile profile = builder.take(0, 0);
  REQUIRE(profile.stacks.size() == 2);
  CHECK(profile.locations[profile.stacks[1].frames[0]].module == 8);
}

TEST_CASE("profile_builder: equal label bytes are decoded once, flags of decoding stay") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = bytes({'a', 0xff});
  decodings = 0;
  add(builder, process, input);
  add(builder, process, input);
  CHECK(decodings == 1);
  Profile profile = builder.take(0, 0);
  REQUIRE(profile.rows.size() == 1);
  CHECK(profile.rows[0].flags == LS_DUPLICATE_KEY);
}

TEST_CASE("profile_builder: a sample of whose values nothing is a label is unlabelled") {
  ProfileBuilder builder(0, 1000);
  FakeProcess process;
  Input input;
  input.labels = {kNothing};
  add(builder, process, input);
  CHECK(builder.labelled() == 0);
  CHECK(builder.undecoded()[LS_UNLABELLED] == 1);
  Profile profile = builder.take(0, 0);
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
  CHECK(builder.take(0, 0).label_sets.size() == 1);
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
  Profile profile = builder.take(0, 0);
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
  renamed.pid = Pid{1};
  renamed.tid = Tid{1};
  renamed.comm = "renamed";
  builder.add(renamed, process);
  Profile profile = builder.take(0, 0);
  REQUIRE(profile.threads.size() == 1);
  CHECK(profile.threads[0].name == "renamed");
}

TEST_CASE("byte_cache: finds what was put in, and forgets rather than grows without bound") {
  ByteCache cache;
  cache.insert("one", 1);
  REQUIRE(cache.find("one") != nullptr);
  CHECK(*cache.find("one") == 1);
  CHECK(cache.find("two") == nullptr);
  std::string large(32 << 20, 'x');
  for (char c : {'a', 'b', 'c'}) {
    large[0] = c;
    cache.insert(large, 2);
  }
  CHECK(cache.find("one") == nullptr);
  REQUIRE(cache.find(large) != nullptr);
}
