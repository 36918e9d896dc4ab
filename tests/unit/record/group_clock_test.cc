// Which cgroup has exactly the processes of a recording, and what its clock says.
#include "cli/record/group_clock.h"

#include <limits>

#include "cli/record/process_clocks.h"
#include "support/catch.h"
#include "unit/record/made_up_groups.h"

using namespace labelscope;
using namespace labelscope::cli;

TEST_CASE("group clock: of the smallest group that has exactly these processes") {
  MadeUpGroups files(GENERATE(true, false));
  const auto all = GroupClock::of({Pid{10}, Pid{11}, Pid{12}}, files.proc());
  REQUIRE(all);
  CHECK(all->folder() == files.groups() + "/app");
  CHECK(all->used_ns() == 5'000'000);
  const auto deep = GroupClock::of({Pid{12}}, files.proc());
  REQUIRE(deep);
  CHECK(deep->folder() == files.groups() + "/app/deep");
}

TEST_CASE("group clock: there is none if a process is missing, or is another group's") {
  MadeUpGroups files(GENERATE(true, false));
  CHECK(!GroupClock::of({}, files.proc()));
  CHECK(!GroupClock::of({Pid{10}, Pid{11}}, files.proc()));
  CHECK(!GroupClock::of({Pid{10}, Pid{11}, Pid{12}, Pid{13}}, files.proc()));
  CHECK(!GroupClock::of({Pid{99}}, files.proc()));
}

TEST_CASE("group clock: processes may have ended meanwhile, or be too new to be known") {
  MadeUpGroups files(GENERATE(true, false));
  files.add(17, 11);
  CHECK(GroupClock::of({Pid{10}, Pid{11}, Pid{12}, Pid{9}}, files.proc()));
  files.set_status(13, 10, 'Z');
  CHECK(GroupClock::of({Pid{10}, Pid{11}, Pid{12}, Pid{13}}, files.proc()));
  files.add(18, 1);
  CHECK(!GroupClock::of({Pid{10}, Pid{11}, Pid{12}}, files.proc()));
}

TEST_CASE("group clock: a recording has its time between two readings at each end") {
  std::uint64_t now = 100;
  KernelClocks none = KernelClocks().without_processes();
  none.processors = [] { return std::uint64_t{0}; };
  ProcessClocks clocks(none);
  CHECK(clocks.of_group().most_ns == std::numeric_limits<std::uint64_t>::max());
  clocks.watch([&] { return std::optional(now); });
  clocks.expect_start();
  now = 120;
  clocks.start();
  now = 1000;
  clocks.expect_stop();
  now = 1100;
  clocks.stop();
  CHECK(clocks.of_group().least_ns == 880);
  CHECK(clocks.of_group().most_ns >= 1000);
  CHECK(clocks.of_group().most_ns <= 1000 + 10'000'000);
}

TEST_CASE("group clock: a group that is removed says nothing") {
  std::optional<std::uint64_t> now = 100;
  ProcessClocks clocks(KernelClocks().without_processes());
  clocks.watch([&] { return now; });
  clocks.expect_start();
  clocks.start();
  clocks.expect_stop();
  now.reset();
  clocks.stop();
  CHECK(clocks.of_group().least_ns == 0);
  CHECK(clocks.of_group().most_ns == std::numeric_limits<std::uint64_t>::max());
}
