// Tests what planners know of files, which processes share. The files are made up; one with the
// same number in two processes is the same file.
#include "labelscope/plan.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr const char* kMusl = "/lib/ld-musl.so.1";
constexpr Address kBias = 0x7f0000000000;

// A process that has loaded a file with no labels.
class Plain : public FakeTarget {
 public:
  Plain() { load(kMusl, elf_from_yaml("musl"), kBias); }
};

std::size_t publishers_of(Planner planner, const Target& target) {
  auto plan = planner.plan(target);
  if (!plan) FAIL(plan.error().context);
  return plan->publishers.size();
}

}  // namespace

TEST_CASE("file_verdicts: what is known to be no publisher is not opened for another process") {
  const Plain target;
  Planner first;
  REQUIRE(first.plan(target));
  CHECK(target.opened(kMusl) == 1);
  Planner second = first.for_another_process();
  const auto plan = second.plan(target);
  REQUIRE(plan);
  CHECK(plan->modules == 1);
  CHECK(target.opened(kMusl) == 1);
  // A planner that shares nothing opens the file again.
  Planner stranger;
  REQUIRE(stranger.plan(target));
  CHECK(target.opened(kMusl) == 2);
}

TEST_CASE("file_verdicts: a file that was written since is looked at again") {
  Plain target;
  Planner first;
  REQUIRE(first.plan(target));
  target.note_written();
  Planner second = first.for_another_process();
  REQUIRE(second.plan(target));
  CHECK(target.opened(kMusl) == 2);
  // A later planner knows what this one has seen.
  Planner third = first.for_another_process();
  REQUIRE(third.plan(target));
  CHECK(target.opened(kMusl) == 2);
}

TEST_CASE("file_verdicts: nothing is kept of a file that no process has mapped") {
  const Plain target;
  Planner all;
  for (int processes = 1; processes <= 3; ++processes) {
    Planner one = all.for_another_process();
    REQUIRE(one.plan(target));
    CHECK(target.opened(kMusl) == processes);
  }
}

TEST_CASE("file_verdicts: where symbols are looked for depends on a file's role and name") {
  // FakeTarget gives this file the same number, in another role.
  const auto load_program = [](FakeTarget& target, bool main) {
    target.load("/bin/shop", read_file(fixture_path("exe_symtab_only")), 0x560000000000, main);
  };
  FakeTarget as_library;
  load_program(as_library, false);
  FakeTarget as_program;
  load_program(as_program, true);
  Planner all;
  Planner first = all.for_another_process();  // stays, so that what it knows does
  REQUIRE(first.plan(as_library));
  CHECK(publishers_of(all.for_another_process(), as_library) == 0);
  CHECK(publishers_of(all.for_another_process(), as_program) == 1);
}

TEST_CASE("file_verdicts: what a process looked like while it ended is not kept for its parent") {
  const auto load_program = [](FakeTarget& target, bool main) {
    target.load("/bin/shop", read_file(fixture_path("exe_symtab_only")), 0x560000000000, main);
  };
  FakeTarget parent;
  load_program(parent, true);
  // The kernel no longer says what its program is, and it maps the same files.
  FakeTarget child;
  load_program(child, false);
  Planner of_parent;
  REQUIRE(of_parent.plan(parent)->publishers.size() == 1);
  Planner of_child = of_parent;
  CHECK(of_child.plan(child)->publishers.empty());
  CHECK(publishers_of(of_parent, parent) == 1);
  CHECK(publishers_of(of_child, parent) == 1);
}

TEST_CASE("file_verdicts: a variable that the user has named is in files of that name") {
  auto spec = parse_variable_spec("libshop.so:custom_labels_current_set:u64");
  REQUIRE(spec);
  FakeTarget other;
  other.load("/usr/lib/libother.so", elf_from_yaml("one_slot"), kBias);
  FakeTarget shop;
  shop.load("/usr/lib/libshop.so", elf_from_yaml("one_slot"), kBias);
  const Planner all({.only = {LS_SOURCE_THREAD_CONTEXT}, .variables = {*spec}});
  Planner first = all.for_another_process();
  REQUIRE(first.plan(other));
  CHECK(publishers_of(all.for_another_process(), other) == 0);
  CHECK(publishers_of(all.for_another_process(), shop) == 1);
}

}  // namespace labelscope::test
