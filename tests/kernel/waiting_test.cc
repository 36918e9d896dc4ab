// Tests the map of threads that wait, as user space and the kernel's programs share it: a thread
// that the programs know is theirs.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/load/loading.h"
#include "bpf/sampling/waiting_threads.h"
#include "kernel/sampling.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr Tid kFirst{4001};
constexpr Tid kSecond{4002};
constexpr Tid kThird{4003};

ls_off_cpu left_at(std::uint64_t left_ns) {
  ls_off_cpu thread{};
  thread.left_ns = left_ns;
  thread.pid = 4000;
  return thread;
}

// The object's programs are loaded, but see no switch: start_waits() attaches them.
std::unique_ptr<BpfObject> load_waits(std::uint32_t max_threads) {
  skip_without_bpf();
  skip_before_linux(6018, "lets no thread sample itself");
  SamplerOptions options;
  options.mode = SampleMode::kOffCpu;
  options.max_threads = max_threads;
  auto object = BpfObject::load(options);
  INFO((object ? "" : object.error().context));
  REQUIRE(object);
  return *std::move(object);
}

constexpr std::chrono::milliseconds kLongerThanQuiet{30};

class SlowHandler : public Taken {
 public:
  void on_waits(std::span<const WaitTotal>, std::span<const BlameTotal>) override {
    ++times;
    std::this_thread::sleep_for(kLongerThanQuiet);
  }
  int times = 0;
};

}  // namespace

TEST_CASE("a thread that waits is added once") {
  const auto object = load_waits(8);
  CHECK(object->add_waiting(kFirst, left_at(5)).value());
  CHECK_FALSE(object->add_waiting(kFirst, left_at(6)).value());
  const auto threads = object->off_cpu_threads();
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].first == kFirst);
  CHECK(threads[0].second.left_ns == 5);
}

TEST_CASE("only a wait whose end nobody has seen is forgotten") {
  const auto object = load_waits(8);
  REQUIRE(object->add_waiting(kFirst, left_at(5)).value());
  REQUIRE(object->add_waiting(kSecond, left_at(5)).value());
  // The programs see the end of the second wait, and draw a sample.
  ls_off_cpu returned = left_at(0);
  returned.drawn_ns[LS_PART_WAITING] = 1'000'000;
  const int map = map_fd(object->object(), "off_cpu_threads");
  REQUIRE(bpf_map_update_elem(map, &kSecond, &returned, BPF_EXIST) == 0);
  object->forget_waiting(kFirst, 5);
  object->forget_waiting(kSecond, 5);
  object->forget_waiting(kThird, 5);
  const auto threads = object->off_cpu_threads();
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].first == kSecond);
  CHECK(threads[0].second.drawn_ns[LS_PART_WAITING] == 1'000'000);
}

TEST_CASE("a process that is removed has no thread that waits, and others keep theirs") {
  const auto object = load_waits(8);
  ls_off_cpu other = left_at(5);
  ++other.pid;
  REQUIRE(object->add_waiting(kFirst, left_at(5)).value());
  REQUIRE(object->add_waiting(kSecond, left_at(0)).value());
  REQUIRE(object->add_waiting(kThird, other).value());
  object->forget_waits(Pid{static_cast<std::int32_t>(left_at(5).pid)});
  const auto threads = object->off_cpu_threads();
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].first == kThird);
}

TEST_CASE("a thread for which there is no room is a limit, and no failure") {
  const auto object = load_waits(2);
  REQUIRE(object->add_waiting(kFirst, left_at(5)).value());
  REQUIRE(object->add_waiting(kSecond, left_at(5)).value());
  const auto third = object->add_waiting(kThird, left_at(5));
  REQUIRE_FALSE(third);
  CHECK(third.error().code == ErrorCode::kLimit);
  CHECK(object->off_cpu_threads().size() == 2);
}

TEST_CASE("totals are taken out of all generations but the one that is there") {
  const auto object = load_waits(2);
  const int map = map_fd(object->object(), "wait_totals");
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const ls_wait_key key{1000 + i, 4000, 1, 0, LS_PART_WAITING, static_cast<std::uint16_t>(i % 2)};
    ls_wait_total total{};
    total.ns = i;
    total.count = 1;
    REQUIRE(bpf_map_update_elem(map, &key, &total, BPF_NOEXIST) == 0);
  }
  const auto old = object->take_wait_totals(0);
  CHECK(old.size() == 5000);
  std::uint64_t all_ns = 0;
  for (const auto& [key, total] : old) {
    CHECK(key.generation == 1);
    all_ns += total.ns;
  }
  CHECK(all_ns == 5000 * 5000);
  CHECK(object->take_wait_totals(0).empty());
  CHECK(object->wait_totals().size() == 5000);
}

TEST_CASE("programs have the quiet time, however long it lasts to take totals out") {
  const auto object = load_waits(8);
  SamplerOptions options;
  options.mode = SampleMode::kOffCpu;
  WaitingThreads threads(*object, options);
  REQUIRE(threads.begin());
  std::vector<ls_totals_made> made(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  const auto make_many = [&] {
    made[0].waits += kMostWaitTotals;
    const std::uint32_t only = 0;
    const int map = map_fd(object->object(), "totals_made");
    REQUIRE(bpf_map_update_elem(map, &only, made.data(), BPF_ANY) == 0);
  };
  SlowHandler handler;
  make_many();
  REQUIRE(threads.work(handler, true));
  REQUIRE(handler.times == 0);
  std::this_thread::sleep_for(kLongerThanQuiet);
  make_many();
  REQUIRE(threads.work(handler, true));
  REQUIRE(handler.times == 1);
  REQUIRE(threads.work(handler, true));
  CHECK(handler.times == 1);
  std::this_thread::sleep_for(kLongerThanQuiet);
  REQUIRE(threads.work(handler, true));
  CHECK(handler.times == 2);
}

TEST_CASE("what was drawn of a wait is a sample at the end, once its labels are known") {
  const auto object = load_waits(8);
  ls_off_cpu drawn = left_at(0);
  drawn.drawn_ns[LS_PART_WAITING] = 700;
  drawn.labels = LS_UNLABELLED;
  REQUIRE(object->add_waiting(kFirst, drawn).value());
  // The labels of this one were never read, so its wait is in no total: it is one that is open.
  ls_off_cpu late = left_at(0);
  late.drawn_ns[LS_PART_WAITING] = 900;
  late.late[0].ns[LS_PART_WAITING] = 30;
  late.labels = LS_LABELS_LATER;
  REQUIRE(object->add_waiting(kSecond, late).value());
  SamplerOptions options;
  options.mode = SampleMode::kOffCpu;
  WaitingThreads threads(*object, options);
  WaitAccounts accounts;
  threads.close(5000, accounts);
  std::vector<std::tuple<Tid, std::uint64_t, std::uint32_t>> samples;
  threads.take_open([&](const Sample& sample) {
    samples.emplace_back(sample.tid, sample.weight_ns, sample.flags);
  });
  std::ranges::sort(samples);
  REQUIRE(samples.size() == 2);
  CHECK(samples[0] == std::tuple(kFirst, std::uint64_t{700}, std::uint32_t{0}));
  CHECK(samples[1] == std::tuple(kSecond, std::uint64_t{30}, std::uint32_t{LS_STILL_WAITING}));
}
