// Tests what the sampler reports of each thread's CPU time, compared with the kernel's own clock of
// the process; and when it takes samples.
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/wire/wire.h"
#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "process/cpu_times.h"
#include "support/catch.h"
#include "support/rights.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

// A thread that runs when sampling begins or ends may lack the last tick on either side.
constexpr double kTicksNs = 20e6;

std::uint64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t sum(const std::map<Tid, std::uint64_t>& times) {
  std::uint64_t all = 0;
  for (const auto& [tid, time] : times) all += time;
  return all;
}

// Samples the child until it has run for this time, and compares.
void expect_whole_time(SampledChild& child, SamplerOptions options, Taken& taken,
                       std::uint64_t wanted_ns) {
  auto sampler = open_sampler(options);
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  const std::uint64_t before_start = process_time(child.pid()).value();
  REQUIRE(sampler->start());
  const std::uint64_t start = process_time(child.pid()).value();
  drain_until(*sampler, taken,
              [&] { return process_time(child.pid()).value_or(UINT64_MAX) >= start + wanted_ns; });
  const std::uint64_t end = process_time(child.pid()).value();
  REQUIRE(sampler->stop(taken));
  const std::uint64_t after_end = process_time(child.pid()).value();
  const auto told = static_cast<double>(sum(taken.ends) + sampler->counters().lost_thread_ns);
  CHECK(told >= 0.99 * static_cast<double>(end - start) - kTicksNs);
  CHECK(told <= 1.01 * static_cast<double>(after_end - before_start) + kTicksNs);
}

void run_for(std::uint64_t ns) {
  const std::uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

}  // namespace

TEST_CASE("sampler: the time of a thread is what it has run since sampling began") {
  SampledChild child([](ChildSide& side) {
    run_for(300'000'000);  // before the recording
    side.burn_until_told();
  });
  wait_for([&] { return process_time(child.pid()).value_or(0) >= 300'000'000; });
  Taken taken;
  expect_whole_time(child, {.frequency_hz = 199}, taken, 500'000'000);
  std::uint64_t last = 0;
  for (const TakenSample& sample : taken.samples) {
    CHECK(sample.thread_ns >= last);
    last = sample.thread_ns;
  }
  CHECK(last <= taken.ends.at(Tid{raw(child.pid())}));
}

TEST_CASE("sampler: the time of threads that live for less than a tick is whole") {
  // The time is not much below the tick of 99 Hz, because the kernel spends a little more in a
  // thread after its process's clock has stopped for it: 11 us, and ten times that on an emulated
  // processor.
  SampledChild child([](ChildSide& side) {
    while (!side.told()) std::thread([] { run_for(8'000'000); }).join();
  });
  Taken taken;
  SECTION("and each of them shows") {
    expect_whole_time(child, {.frequency_hz = 99}, taken, 1'000'000'000);
    // On an emulated processor a thread takes 20 ms, with its creation and its end.
    CHECK(taken.ends.size() > 40);
  }
  SECTION("or is kept until the end, where the ring buffer is full") {
    auto sampler = open_sampler({.frequency_hz = 99, .ring_bytes = 4096});
    REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
    REQUIRE(sampler->start());
    const std::uint64_t start = process_time(child.pid()).value();
    wait_for([&] { return process_time(child.pid()).value_or(0) >= start + 1'000'000'000; });
    const std::uint64_t end = process_time(child.pid()).value();
    REQUIRE(sampler->stop(taken));
    const std::uint64_t after_end = process_time(child.pid()).value();
    CHECK(sampler->counters().lost_thread_ns == 0);
    CHECK(taken.ends.size() > 40);
    const auto told = static_cast<double>(sum(taken.ends));
    CHECK(told >= 0.98 * static_cast<double>(end - start) - kTicksNs);
    CHECK(told <= 1.02 * static_cast<double>(after_end - start) + 2 * kTicksNs);
  }
}

TEST_CASE("sampler: samples of waits know their threads, too") {
  skip_before_linux(6018, "lets no thread sample itself");
  // Each thread runs before the recording, and is sampled in both ways.
  SampledChild child([](ChildSide& side) {
    const auto work = [&side] {
      run_for(100'000'000);
      while (!side.told()) {
        run_for(2'000'000);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    };
    std::vector<std::thread> others;
    for (int i = 0; i < 4; ++i) others.emplace_back(work);
    for (std::thread& other : others) other.join();
  });
  wait_for([&] { return process_time(child.pid()).value_or(0) >= 400'000'000; });
  Taken taken;
  expect_whole_time(child, {.mode = SampleMode::kWall, .frequency_hz = 499}, taken, 500'000'000);
}

TEST_CASE("sampler: the time of ended threads is lost where there are more than can be kept") {
  // Each thread runs for many times what the kernel spends in it after its process's clock has
  // stopped for it, which is 22 us on an emulated processor.
  SampledChild child([](ChildSide& side) {
    side.wait_until_told();
    side.take();
    for (int i = 0; i < 3 * LS_MAX_UNSENT_ENDS; ++i) std::thread([] { run_for(300'000); }).join();
    side.say(1);
    side.wait_until_told();
  });
  auto sampler = open_sampler({.frequency_hz = 99, .ring_bytes = 4096});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  child.tell();
  child.hear();
  Taken taken;
  REQUIRE(sampler->stop(taken));
  const std::uint64_t lost = sampler->counters().lost_thread_ns;
  const auto ran = static_cast<double>(process_time(child.pid()).value());
  CHECK(lost > 0);
  CHECK(taken.ends.size() >= LS_MAX_UNSENT_ENDS);
  CHECK(static_cast<double>(sum(taken.ends) + lost) <= 1.05 * ran + kTicksNs);
}

TEST_CASE("sampler: a thread that executes a program takes its time along, once") {
  SampledChild child([](ChildSide& side) {
    side.wait_until_told();
    side.take();
    std::thread other([&side] {
      run_for(200'000'000);
      side.wait_until_told();
      execl("/bin/sh", "sh", "-c", "while :; do :; done", static_cast<char*>(nullptr));
      _exit(1);
    });
    run_for(200'000'000);
    other.join();
  });
  auto sampler = open_sampler({.frequency_hz = 199});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  const std::uint64_t start = process_time(child.pid()).value();
  Taken taken;
  child.tell();
  drain_until(*sampler, taken,
              [&] { return process_time(child.pid()).value_or(0) >= start + 350'000'000; });
  child.tell();
  drain_until(*sampler, taken, [&] {
    return !taken.execs.empty() && process_time(child.pid()).value_or(0) >= start + 800'000'000;
  });
  const std::uint64_t end = process_time(child.pid()).value();
  REQUIRE(sampler->stop(taken));
  // On a busy machine the child runs on until this process has stopped the sampler.
  const std::uint64_t after_end = process_time(child.pid()).value();
  // The last moments of the first thread, whose number the other one has taken, are not counted.
  CHECK(static_cast<double>(sum(taken.ends)) <=
        1.01 * static_cast<double>(after_end - start) + kTicksNs);
  CHECK(static_cast<double>(sum(taken.ends)) >= 0.6 * static_cast<double>(end - start));
}

namespace {

// Adds up time as accounts of time do: what the samples of a thread have grown by, and its end.
class Accounts final : public EventHandler {
 public:
  void on_sample(const Sample& sample) override {
    std::uint64_t& last = open_[sample.tid];
    last = std::max(last, sample.thread_ns);
    ++samples;
  }
  void on_fork(Pid, ProcessKey) override {}
  void on_exec(ProcessKey, std::string_view) override { ++execs; }
  void on_exit(Pid) override {}
  void on_thread_end(ProcessKey, Tid tid, std::uint64_t thread_ns) override {
    whole += std::max(std::exchange(open_[tid], 0), thread_ns);
  }
  void on_mapping(const MappingEvent&) override {}

  std::uint64_t whole = 0;
  std::size_t samples = 0;
  std::size_t execs = 0;

 private:
  std::map<Tid, std::uint64_t> open_;
};

}  // namespace

TEST_CASE("sampler: a thread counts once while it takes the first thread's number") {
  // To give this memory back takes a while, in which the thread has the number and is sampled.
  constexpr std::size_t kMemory = 128 << 20;
  constexpr std::uint64_t kRuns = 300'000'000;
  SampledChild child([](ChildSide& side) {
    side.wait_until_told();
    side.take();
    std::thread([] {
      run_for(kRuns);
      auto* memory = static_cast<char*>(
          mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      if (memory == MAP_FAILED) _exit(1);
      madvise(memory, kMemory, MADV_NOHUGEPAGE);
      for (std::size_t i = 0; i < kMemory; i += 4096) memory[i] = 1;
      execl("/bin/sleep", "sleep", "1000", static_cast<char*>(nullptr));
      _exit(1);
    }).join();
  });
  auto sampler = open_sampler({.frequency_hz = 3999});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Accounts accounts;
  child.tell();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (accounts.execs == 0 && std::chrono::steady_clock::now() < deadline)
    REQUIRE(sampler->drain(accounts, std::chrono::milliseconds(20)));
  REQUIRE(sampler->stop(accounts));
  const auto ran = static_cast<double>(process_time(child.pid()).value());
  CHECK(ran >= static_cast<double>(kRuns));
  CHECK(static_cast<double>(accounts.whole) <= 1.01 * ran + kTicksNs);
  CHECK(static_cast<double>(accounts.whole) >= 0.95 * ran - kTicksNs);
}

TEST_CASE("sampler: nothing can keep step with the times of samples") {
  constexpr double kHz = 499;
  SampledChild child([](ChildSide& side) { side.burn_until_told(); });
  auto sampler = open_sampler({.frequency_hz = 499, .event = SampledEvent::kClock});
  REQUIRE(sampler->set_process(child.pid(), {&child.recipe(), 1}));
  REQUIRE(sampler->start());
  Taken taken;
  drain_until(*sampler, taken, [&] { return taken.samples.size() >= 500; });
  REQUIRE(sampler->stop(taken));
  std::size_t alike = 0;
  double whole = 0;
  for (std::size_t i = 1; i < taken.samples.size(); ++i) {
    const auto between =
        static_cast<double>(taken.samples[i].time_ns - taken.samples[i - 1].time_ns) / 1e9 * kHz;
    whole += between;
    // At a fixed rate nearly all differences would be one period, but for those with a wait for a
    // processor between.
    alike += std::abs(between - 1) < 0.03;
  }
  CHECK(alike < taken.samples.size() / 3);
  // Periods lie between half and one and a half times the usual one, with fewer samples where the
  // child waited.
  CHECK(whole / static_cast<double>(taken.samples.size()) > 0.8);
}
