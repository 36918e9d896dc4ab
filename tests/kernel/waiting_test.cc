// Tests the map of threads that wait, as user space and the kernel's programs share it: a thread
// that the programs know is theirs.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <memory>

#include "bpf/load/bpf_object.h"
#include "bpf/load/loading.h"
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

TEST_CASE("a thread for which there is no room is a limit, and no failure") {
  const auto object = load_waits(2);
  REQUIRE(object->add_waiting(kFirst, left_at(5)).value());
  REQUIRE(object->add_waiting(kSecond, left_at(5)).value());
  const auto third = object->add_waiting(kThird, left_at(5));
  REQUIRE_FALSE(third);
  CHECK(third.error().code == ErrorCode::kLimit);
  CHECK(object->off_cpu_threads().size() == 2);
}
