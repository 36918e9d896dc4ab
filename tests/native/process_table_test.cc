// Events whose records were lost, found out by comparing with the map of processes.
#include "bpf/sampling/process_table.h"

#include "support/catch.h"

namespace labelscope::test {
namespace {

using Kind = ProcessRecord::Kind;
using Present = ProcessTable::Present;

constexpr Pid kParent{7};
constexpr Pid kProcess{8};

std::vector<Kind> kinds_of(const std::vector<ProcessRecord>& events) {
  std::vector<Kind> kinds;
  for (const ProcessRecord& event : events) kinds.push_back(event.kind);
  return kinds;
}

// A process that was forked in one life and has executed a program since.
std::vector<ProcessRecord> missed(const std::vector<Present>& present) {
  return ProcessTable::missed({{raw(kProcess), {10, 12}}}, present);
}

}  // namespace

TEST_CASE("process_table: a process that is as it was known has missed nothing") {
  CHECK(missed({{kProcess, kParent, {10, 12}}}).empty());
}

TEST_CASE("process_table: an exec, an end and a new process are noticed") {
  const auto execs = missed({{kProcess, kParent, {10, 13}}});
  REQUIRE(kinds_of(execs) == std::vector{Kind::kExec});
  CHECK(execs[0].life == 13);
  CHECK(kinds_of(missed({})) == std::vector{Kind::kExit});
  const auto events = missed({{kProcess, kParent, {10, 12}}, {Pid{9}, kProcess, {20, 25}}});
  REQUIRE(kinds_of(events) == std::vector{Kind::kFork, Kind::kExec});
  CHECK(events[0].pid == Pid{9});
  CHECK(events[0].parent == kProcess);
  CHECK(events[0].life == 20);
  CHECK(events[1].life == 25);
}

TEST_CASE("process_table: a child that has executed nothing is a fork alone") {
  const auto events = missed({{kProcess, kParent, {10, 12}}, {Pid{9}, kProcess, {20, 20}}});
  CHECK(kinds_of(events) == std::vector{Kind::kFork});
}

TEST_CASE("process_table: a number that another process has meanwhile is an end and a fork") {
  const auto events = missed({{kProcess, kParent, {30, 31}}});
  REQUIRE(kinds_of(events) == std::vector{Kind::kExit, Kind::kFork, Kind::kExec});
  CHECK(events[0].life == 12);
  CHECK(events[1].parent == kParent);
  CHECK(events[1].life == 30);
  CHECK(events[2].life == 31);
}

}  // namespace labelscope::test
