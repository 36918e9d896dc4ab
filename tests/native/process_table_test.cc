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

std::vector<ProcessRecord> missed(std::uint32_t known_execs, const std::set<Pid>& gone,
                                  const std::vector<Present>& present) {
  return ProcessTable::missed({{raw(kProcess), known_execs}}, gone, present);
}

}  // namespace

TEST_CASE("process_table: a process that is as it was known has missed nothing") {
  CHECK(missed(2, {}, {{kProcess, kParent, 2}}).empty());
}

TEST_CASE("process_table: an exec, an end and a new process are noticed") {
  CHECK(kinds_of(missed(2, {}, {{kProcess, kParent, 3}})) == std::vector{Kind::kExec});
  CHECK(kinds_of(missed(2, {kProcess}, {})) == std::vector{Kind::kExit});
  const auto events = missed(2, {}, {{kProcess, kParent, 2}, {Pid{9}, kProcess, 5}});
  REQUIRE(kinds_of(events) == std::vector{Kind::kFork, Kind::kExec});
  CHECK(events[0].pid == Pid{9});
  CHECK(events[0].parent == kProcess);
  CHECK(events[1].exec_count == 5);
}

TEST_CASE("process_table: a number that another process has meanwhile is an end and a fork") {
  // The new process has as many execs as the first one had.
  const auto events = missed(2, {kProcess}, {{kProcess, kParent, 2}});
  REQUIRE(kinds_of(events) == std::vector{Kind::kExit, Kind::kFork, Kind::kExec});
  CHECK(events[1].parent == kParent);
  CHECK(events[2].exec_count == 2);
}

}  // namespace labelscope::test
