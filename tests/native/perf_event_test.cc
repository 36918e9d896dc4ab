// bpf/sampling/perf_event.cc and bpf/sampling/perf_ring.cc: the texts and records that the kernel
// writes.
#include "bpf/sampling/perf_event.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bpf/sampling/perf_ring.h"
#include "bpf/sampling/wakeup_budget.h"
#include "sampling/sampler.h"
#include "support/catch.h"

using namespace labelscope;

namespace {

std::vector<std::byte> mapping_record(std::uint32_t protection, std::string_view name) {
  const std::uint64_t time_ns = 77;
  std::vector<std::byte> bytes(72 + name.size() + sizeof(time_ns));
  auto put = [&](std::size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof(value)); };
  put(0, perf_event_header{PERF_RECORD_MMAP2, 0, static_cast<std::uint16_t>(bytes.size())});
  put(8, std::uint32_t{12});
  put(12, std::uint32_t{13});
  put(16, std::uint64_t{0x7f0000001000});
  put(24, std::uint64_t{0x2000});
  put(32, std::uint64_t{0x3000});
  put(40, std::uint32_t{8});
  put(44, std::uint32_t{1});
  put(48, std::uint64_t{4711});
  put(64, protection);
  std::memcpy(&bytes[72], name.data(), name.size());
  put(72 + name.size(), time_ns);
  return bytes;
}

}  // namespace

TEST_CASE("perf_event: lists of CPUs are read with their gaps") {
  REQUIRE(*parse_cpu_list("0\n") == std::vector<int>{0});
  REQUIRE(*parse_cpu_list("0-3\n") == std::vector<int>{0, 1, 2, 3});
  REQUIRE(*parse_cpu_list("0-1,4,6-7") == std::vector<int>{0, 1, 4, 6, 7});
}

TEST_CASE("perf_event: lists of CPUs that make no sense are refused") {
  for (const char* text : {"a", "1-", "3-1", "1,,2", "1,", "-1", "0-99999999", "99999999999"}) {
    INFO(text);
    REQUIRE_FALSE(parse_cpu_list(text));
  }
}

TEST_CASE("perf_ring: an executable mapping is handed out as the kernel reports it") {
  PerfRing::Handler handler;
  std::vector<std::string> paths;
  MappingEvent last;
  handler.on_mapping = [&](const MappingEvent& event) {
    last = event;
    paths.emplace_back(event.path);
  };
  decode_perf_record(mapping_record(PROT_READ | PROT_EXEC, {"/lib/x.so\0\0\0", 12}), handler);
  REQUIRE(paths == std::vector<std::string>{"/lib/x.so"});
  REQUIRE(raw(last.pid) == 12);
  REQUIRE(last.start == 0x7f0000001000);
  REQUIRE(last.length == 0x2000);
  REQUIRE(last.file_offset == 0x3000);
  REQUIRE(last.device_major == 8);
  REQUIRE(last.device_minor == 1);
  REQUIRE(last.inode == 4711);
  REQUIRE(last.time_ns == 77);
}

TEST_CASE("perf_ring: mappings that are not executable are left out") {
  PerfRing::Handler handler;
  bool any = false;
  handler.on_mapping = [&](const MappingEvent&) { any = true; };
  decode_perf_record(mapping_record(PROT_READ, "/lib/x.so"), handler);
  REQUIRE_FALSE(any);
}

TEST_CASE("perf_ring: a name without an end stays within its record, and cut records are counted") {
  PerfRing::Handler handler;
  std::size_t length = 0;
  handler.on_mapping = [&](const MappingEvent& event) { length = event.path.size(); };
  auto record = mapping_record(PROT_EXEC, "12345678");
  decode_perf_record(record, handler);
  REQUIRE(length == 8);
  for (std::size_t size = 0; size < 72; ++size) {
    decode_perf_record(std::span(record).first(size), handler);
  }
  REQUIRE(handler.malformed == 72);
}

TEST_CASE("perf_ring: losses and throttling are counted") {
  PerfRing::Handler handler;
  struct {
    perf_event_header head{PERF_RECORD_LOST, 0, 24};
    std::uint64_t id = 1;
    std::uint64_t lost = 7;
  } lost;
  decode_perf_record(std::as_bytes(std::span(&lost, 1)), handler);
  perf_event_header throttle{PERF_RECORD_THROTTLE, 0, sizeof(perf_event_header)};
  decode_perf_record(std::as_bytes(std::span(&throttle, 1)), handler);
  REQUIRE(handler.lost == 7);
  REQUIRE(handler.throttled == 1);
}

namespace {

int spend_all(WakeupBudget& budget, WakeupBudget::Clock::time_point now) {
  int spent = 0;
  while (spent < 1000 && budget.spend(now)) ++spent;
  return spent;
}

}  // namespace

TEST_CASE("wakeup_budget: a burst is allowed, and then one for each millisecond") {
  using std::chrono::milliseconds;
  WakeupBudget budget;
  auto now = WakeupBudget::Clock::now();
  CHECK(spend_all(budget, now) == 32);
  now += milliseconds(5);
  CHECK(spend_all(budget, now) == 5);
  now += std::chrono::microseconds(900);
  CHECK(spend_all(budget, now) == 0);
  CHECK(budget.until_next() <= std::chrono::microseconds(101));
  CHECK_FALSE(budget.spend(now + std::chrono::microseconds(90)));
  CHECK(budget.spend(now + std::chrono::microseconds(101)));
  now += std::chrono::hours(1);
  CHECK(spend_all(budget, now) == 32);
}

TEST_CASE("wakeup_budget: what happens in other processes wakes labelscope once in 16 ms") {
  WakeupBudget budget;
  auto now = WakeupBudget::Clock::now();
  spend_all(budget, now);
  int spent = 0;
  for (int i = 0; i < 1600; ++i) {
    now += std::chrono::milliseconds(1);
    if (!budget.spend(now)) continue;
    ++spent;
    budget.waste();
    CHECK(budget.until_next() >= std::chrono::milliseconds(15));
  }
  CHECK(spent >= 99);
  CHECK(spent <= 101);
  // A program begins, and in the next millisecond another one.
  budget.fill(now);
  CHECK(spend_all(budget, now) == 32);
  now += std::chrono::milliseconds(1);
  budget.fill(now);
  CHECK(spend_all(budget, now) == 1);
}
