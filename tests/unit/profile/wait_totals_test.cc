// Waits: their samples have a reason, and get the time of the kernel's totals.
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "cli/profile/profile_builder.h"
#include "cli/profile/wait_reason.h"
#include "support/catch.h"
#include "unit/profile/fake_process.h"

using namespace labelscope;
using namespace labelscope::cli;

TEST_CASE("wait_totals: a wait has the label of its reason, unless its thread has set one") {
  constexpr ls_sample_kind kKinds[] = {LS_WAITING, LS_RUNNABLE};
  ProfileBuilder builder(0, 1000, {}, kKinds);
  FakeProcess process;
  const auto wait = [&](ls_sample_kind kind, std::int32_t system_call,
                        std::span<const std::byte> labels) {
    Sample view;
    view.process = {Pid{1}, 1};
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
  const Profile profile = builder.take();
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
  sample.process = {Pid{1}, 1};
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
  return {.process = {Pid{1}, 1},
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

FindProcessOfWaits always(FakeProcess& process) {
  return [&process](ProcessKey) { return process_of_waits(process); };
}

std::string labels_of(const Profile& profile, Index set) {
  std::string text;
  for (const Label& label : profile.label_sets.at(set)) {
    if (label.key != "wait") text += label.key + "=" + label.value + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("wait_totals: weights of chance are fitted to the total, to the nanosecond") {
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  for (const std::uint64_t weight : {10, 30, 7, 3}) builder.add(a_wait(weight), process);
  const WaitTotal totals[] = {a_total(LS_UNLABELLED, 99), a_total(kUnknownLabels, 5, LS_RUNNABLE)};
  builder.add_totals(totals, always(process));
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{19, 62, 13, 5});
  CHECK(profile.ledger.time.attributed_ns == 99);
  // No wait for a processor was drawn, and of what labels they were is not known.
  CHECK(profile.ledger.time.unsampled_ns == 5);
  REQUIRE(profile.waits.size() == 1);
  CHECK(profile.waits[0].time_ns == 99);
}

TEST_CASE("wait_totals: each label set has the time of its own total") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  constexpr std::byte kB[] = {std::byte{'b'}};
  constexpr std::byte kC[] = {std::byte{'c'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(10, kA), process);
  builder.add(a_wait(20, kA), process);
  builder.add(a_wait(10, kB), process);
  builder.add(a_wait(4), process);  // its labels were another thread's work: no total has them
  builder.numbered().name(1000, kA, process);
  builder.numbered().name(1001, kB, process);
  builder.numbered().name(1002, kC, process);
  const WaitTotal totals[] = {a_total(1000, 60'000), a_total(1001, 7000), a_total(1002, 11'000),
                              a_total(999'999, 3)};  // this number came with a record that was lost
  builder.add_totals(totals, always(process));
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{20'000, 40'000, 7000, 3, 11'000});
  // "c" was never sampled: its time has a row that counts no sample, and a thread without a number.
  const SampleRow& unsampled = profile.rows.back();
  CHECK(unsampled.count == 0);
  CHECK(unsampled.stack == kNoIndex);
  CHECK(profile.threads.at(unsampled.thread).tid == Tid{0});
  CHECK(profile.pid_of(profile.threads.at(unsampled.thread)) == Pid{1});
  CHECK(profile.label_sets.at(unsampled.label_set).front().value == "c");
  CHECK(profile.ledger.time.attributed_ns == 78'003);
  CHECK(profile.ledger.time.unsampled_ns == 0);
}

TEST_CASE("wait_totals: a wait that has not ended comes beside the total of those that have") {
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  Sample open = a_wait(1000);
  open.flags = LS_STILL_WAITING;
  builder.add(open, process);
  builder.add(a_wait(10), process);
  const WaitTotal totals[] = {a_total(LS_UNLABELLED, 10)};
  builder.add_totals(totals, always(process));
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{1000, 10});
  CHECK(profile.waits.at(0).time_ns == 10);
}

TEST_CASE("wait_totals: time without labels of a thread has those of its process") {
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  process.own = "web";
  builder.add(a_wait(10), process);
  const WaitTotal totals[] = {a_total(LS_UNLABELLED, 99)};
  SECTION("while it is known") { builder.add_totals(totals, always(process)); }
  SECTION("and when it was let go") {
    ProcessOfWaits gone = process_of_waits(process);
    gone.process = nullptr;
    builder.add_totals(totals, [&](ProcessKey) { return gone; });
  }
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{99});
  CHECK(labels_of(profile, profile.waits.at(0).label_set) == "own=web ");
}

TEST_CASE("wait_totals: a key that gets its name later names all time, and conserves it") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  process.key = "key 1";
  builder.add(a_wait(10, kA), process);
  builder.numbered().name(1000, kA, process);
  process.key = "route";
  ++process.publishers;
  builder.add(a_wait(20, kA), process);
  const WaitTotal totals[] = {a_total(1000, 60)};
  SECTION("with the same plan") {
    builder.add_totals(totals, always(process));
    const Profile profile = builder.take();
    CHECK(labels_of(profile, profile.waits.at(0).label_set) == "route=a ");
    CHECK(weights_of(profile) == std::vector<std::uint64_t>{10, 50});
  }
  SECTION("but not if publishers have changed places") {
    ++process.plans;
    builder.add_totals(totals, always(process));
    const Profile profile = builder.take();
    CHECK(labels_of(profile, profile.waits.at(0).label_set) == "key 1=a ");
    CHECK(weights_of(profile) == std::vector<std::uint64_t>{40, 20});
  }
}

TEST_CASE("wait_totals: samples of no total take no time of another reason") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(10, kA), process);
  WaitTotal other = a_total(LS_UNLABELLED, 60);
  other.system_call = SYS_write;
  builder.add_totals({&other, 1}, always(process));
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{0, 60});
}

TEST_CASE(
    "wait_totals: a wait that got its labels meanwhile takes its time from where it is missing") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  constexpr std::byte kB[] = {std::byte{'b'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(60, kA), process);
  builder.add(a_wait(2000, kB), process);  // it began before its process had a plan
  builder.numbered().name(1000, kA, process);
  const WaitTotal totals[] = {a_total(1000, 60), a_total(LS_UNLABELLED, 2000)};
  builder.add_totals(totals, always(process));
  CHECK(weights_of(builder.take()) == std::vector<std::uint64_t>{60, 2000});
}

TEST_CASE("wait_totals: an open wait takes nothing from one that came before it") {
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(7), process);
  Sample open = a_wait(1000);
  open.flags = LS_STILL_WAITING;
  builder.add(open, process);
  const WaitTotal totals[] = {a_total(kUnknownLabels, 5)};
  builder.add_totals(totals, always(process));
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{5, 1000});
  CHECK(profile.ledger.time.attributed_ns == 1005);
}

TEST_CASE("wait_totals: a sample that was unreadable takes nothing from the totals of others") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(10, kA), process);
  Sample unreadable = a_wait(500);
  unreadable.outcome = LS_UNREADABLE_VANISHED;
  builder.add(unreadable, process);
  builder.numbered().name(1000, kA, process);
  const WaitTotal totals[] = {a_total(1000, 60)};
  builder.add_totals(totals, always(process));
  const Profile profile = builder.take();
  CHECK(weights_of(profile) == std::vector<std::uint64_t>{60, 0});
}

namespace {

// A request's labels: a tenant of few, and a number of its own.
struct FakeShop final : ProcessContext {
  Index module_at(Address) override { return kNoIndex; }
  Index kernel_module() override { return 0; }
  std::uint64_t address_epoch() const override { return 0; }
  std::uint64_t publisher_epoch() const override { return 0; }
  std::uint8_t publisher(std::uint8_t index) const override { return index; }
  Observation decode(std::span<const std::byte> bytes) override {
    Observation seen;
    if (bytes.empty()) return seen;
    std::uint32_t request = 0;
    std::memcpy(&request, bytes.data(), sizeof request);
    seen.outcome = LS_LABELLED;
    seen.labels = {{"request", std::to_string(request), 0},
                   {"tenant", request % 4 == 0 ? "acme" : "globex", 0}};
    return seen;
  }
};

constexpr std::uint32_t kRequests = 1000;
constexpr std::size_t kRoom = 100;

// Takes out totals of 1,000 requests in ten parts, each request with 7 ns and one blamed wait of
// 3 ns, and one sample of each tenth.
Profile of_many_requests(const LabelRules& rules) {
  FakeShop shop;
  const FindProcessOfWaits find = [&](ProcessKey) { return process_of_waits(shop); };
  ProfileBuilder builder(10'000, 1000, rules, kWaitKinds, {.label_sets = kRoom});
  for (std::uint32_t part = 0; part < 10; ++part) {
    std::vector<WaitTotal> waits;
    std::vector<BlameTotal> blame;
    for (std::uint32_t i = 0; i < kRequests / 10; ++i) {
      const std::uint32_t request = part * kRequests / 10 + i;
      const std::uint64_t number = 1'000'000 + request;
      const auto bytes = std::as_bytes(std::span(&request, 1));
      builder.numbered().name(number, bytes, shop);
      waits.push_back(a_total(number, 7));
      BlameTotal because;
      because.wait = a_total(number, 3);
      because.kind = LS_BLAME_THREAD;
      because.process = {Pid{1}, 1};
      because.labels = number;
      blame.push_back(because);
      if (i % 10 == 0) builder.add(a_wait(100, bytes), shop);
    }
    builder.add_blame(blame, find, true);
    builder.add_totals(waits, find, true);
  }
  // One comes again, whose bytes are no longer kept.
  const WaitTotal last[] = {a_total(1'000'000, 7)};
  builder.add_totals(last, find);
  return builder.take();
}

std::uint64_t time_of(const Profile& profile, const auto& rows, std::string_view tenant) {
  std::uint64_t time_ns = 0;
  for (const auto& row : rows) {
    const LabelSet& labels = profile.label_sets.at(row.label_set);
    const auto label = std::ranges::find(labels, "tenant", &Label::key);
    if (label == labels.end() || label->value != tenant) continue;
    if constexpr (requires {
                    row.time_ns;
                    row.by;
                  }) {
      time_ns += row.time_ns;
    } else {
      time_ns += row.weight_ns;
    }
  }
  return time_ns;
}

}  // namespace

TEST_CASE("wait_totals: of more label sets than there is room for, each other label is exact") {
  LabelRules rules;
  SECTION("as they are") {}
  SECTION("without the label that makes them many") { rules.deny = {"request"}; }
  SECTION("with its values in groups") { rules.hash = {"request"}; }
  SECTION("with the wanted labels alone") { rules.allow = {"tenant"}; }
  const Profile profile = of_many_requests(rules);
  CHECK(time_of(profile, profile.rows, "acme") == 7 * kRequests / 4 + 7);
  CHECK(time_of(profile, profile.rows, "globex") == 7 * kRequests / 4 * 3);
  CHECK(time_of(profile, profile.blame, "acme") == 3 * kRequests / 4);
  CHECK(time_of(profile, profile.blame, "globex") == 3 * kRequests / 4 * 3);
  std::uint64_t all_ns = 0;
  for (const SampleRow& row : profile.rows) all_ns += row.weight_ns;
  CHECK(all_ns == 7 * (kRequests + 1));
  CHECK(profile.ledger.time.unsampled_ns == 0);
  // Each sample has time, also those whose sets have lost a label.
  for (const SampleRow& row : profile.rows) CHECK(row.weight_ns != 0);
  CHECK(profile.waits.size() < 4 * kRoom);
}

TEST_CASE("wait_totals: a number of blame means the labels with its keys alone") {
  FakeShop shop;
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  builder.numbered().keep_for_blame({"tenant"});
  CHECK_FALSE(builder.numbered().has_sets_of_blame());
  const std::uint32_t request = 4;
  const auto bytes = std::as_bytes(std::span(&request, 1));
  builder.numbered().name(1000, bytes, shop, true);
  builder.numbered().name(1001, bytes, shop);
  CHECK(builder.numbered().has_sets_of_blame());
  const FindProcessOfWaits find = [&](ProcessKey) { return process_of_waits(shop); };
  BlameTotal because;
  because.wait = a_total(1000, 3);
  because.kind = LS_BLAME_THREAD;
  because.process = {Pid{1}, 1};
  because.labels = 1000;
  builder.add_blame({&because, 1}, find, true);
  const WaitTotal total = a_total(1001, 7);
  builder.add_totals({&total, 1}, find, true);
  const Profile profile = builder.take();
  REQUIRE(profile.blame.size() == 1);
  CHECK(labels_of(profile, profile.blame[0].label_set) == "tenant=acme ");
  CHECK(labels_of(profile, profile.blame[0].by.label_set) == "tenant=acme ");
  REQUIRE(profile.waits.size() == 1);
  CHECK(labels_of(profile, profile.waits[0].label_set) == "request=4 tenant=acme ");
}

TEST_CASE("wait_totals: a number whose record was lost has its meaning when it is sent again") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  const WaitTotal totals[] = {a_total(1000, 60)};
  builder.add_totals(totals, always(process), true);
  builder.numbered().name(1000, kA, process);
  builder.add_totals(totals, always(process));
  const Profile profile = builder.take();
  REQUIRE(profile.waits.size() == 1);
  CHECK(profile.waits[0].time_ns == 120);
  CHECK(labels_of(profile, profile.waits[0].label_set) == "k=a ");
}

TEST_CASE("wait_totals: unknown time is of all labels, also if some samples are of no total") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  constexpr std::byte kB[] = {std::byte{'b'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(10, kA), process);
  builder.add(a_wait(10, kB), process);
  builder.add(a_wait(1), process);
  builder.numbered().name(1000, kA, process);
  builder.numbered().name(1001, kB, process);
  const WaitTotal totals[] = {a_total(1000, 3000), a_total(1001, 1000),
                              a_total(kUnknownLabels, 8000)};
  builder.add_totals(totals, always(process));
  const std::vector<std::uint64_t> weights = weights_of(builder.take());
  CHECK(weights[0] + weights[1] + weights[2] == 12'000);
  // As many waits were sampled of each, so each has as much of the whole.
  CHECK(std::llabs(static_cast<std::int64_t>(weights[0]) - 12'000 * 10 / 21) <= 2);
  CHECK(std::llabs(static_cast<std::int64_t>(weights[1]) - 12'000 * 10 / 21) <= 2);
}

TEST_CASE("wait_totals: time of numbers that nobody knows is never that of a total of its own") {
  constexpr std::byte kSteady[] = {std::byte{'s'}};
  constexpr std::byte kLost[] = {std::byte{'l'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(1000, kSteady), process);
  builder.add(a_wait(10, kLost), process);
  builder.numbered().name(1000, kSteady, process);
  const WaitTotal totals[] = {a_total(1000, 5000), a_total(999'999, 7000)};
  builder.add_totals(totals, always(process));
  CHECK(weights_of(builder.take()) == std::vector<std::uint64_t>{5000, 7000});
}

TEST_CASE("wait_totals: a total that has what its samples weigh lacks nothing") {
  constexpr std::byte kSteady[] = {std::byte{'s'}};
  constexpr std::byte kFlood[] = {std::byte{'f'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(5000, kSteady), process);
  builder.add(a_wait(3000, kFlood), process);
  builder.numbered().name(1000, kSteady, process);
  builder.numbered().name(1001, kFlood, process);
  const WaitTotal totals[] = {a_total(1000, 5000), a_total(1001, 1000),
                              a_total(kUnknownLabels, 4000)};
  builder.add_totals(totals, always(process));
  CHECK(weights_of(builder.take()) == std::vector<std::uint64_t>{5000, 5000});
}

TEST_CASE("wait_totals: a length is in the bucket whose bounds it is between") {
  CHECK(ls_wait_bucket(0) == 0);
  CHECK(ls_wait_bucket(1023) == 0);
  CHECK(ls_wait_bucket(UINT64_MAX) == LS_WAIT_BUCKETS - 1);
  for (unsigned bucket = 1; bucket < LS_WAIT_BUCKETS; ++bucket) {
    const std::uint64_t first = std::uint64_t{1} << (bucket + LS_WAIT_SHORTEST_LOG2);
    CHECK(ls_wait_bucket(first - 1) == bucket - 1);
    CHECK(ls_wait_bucket(first) == bucket);
    CHECK(ls_wait_bucket(2 * first - 1) == bucket);
  }
}

TEST_CASE("wait_totals: labels of no total have all that their kin lend, to the nanosecond") {
  constexpr std::byte kA[] = {std::byte{'a'}};
  constexpr std::byte kB[] = {std::byte{'b'}};
  ProfileBuilder builder(10, 1000, {}, kWaitKinds);
  FakeProcess process;
  builder.add(a_wait(50, kA), process);
  builder.add(a_wait(70, kB), process);
  const WaitTotal totals[] = {a_total(LS_UNLABELLED, 61)};
  builder.add_totals(totals, always(process));
  const std::vector<std::uint64_t> weights = weights_of(builder.take());
  CHECK(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) == 61);
  CHECK(weights.at(0) / 25 == 1);
  CHECK(weights.at(1) / 35 == 1);
}

TEST_CASE("wait_totals: what a thread waits for has a name also where it is in no system call") {
  CHECK(wait_reason(LS_RUNNABLE, LS_CALL_NONE) == "preempted");
  CHECK(wait_reason(LS_UNINTERRUPTIBLE, LS_CALL_FAULT) == "page fault");
  CHECK(wait_reason(LS_RUNNABLE, LS_CALL_FAULT) == "page fault");
  CHECK(wait_reason(LS_RUNNABLE, LS_CALL_THROTTLED) == "throttled");
  CHECK(wait_reason(LS_WAITING, LS_CALL_FROZEN) == "frozen");
}
