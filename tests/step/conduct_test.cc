// Tests check --step on programs that do what programs do: they end, crash, fork, execute others,
// take signals. Each ends in the same way as without stepping, and leaves nothing behind.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "sources/custom_labels/rules.h"
#include "step/stepped_program.h"
#include "support/catch.h"

using labelscope::test::has_watchpoints;
using labelscope::test::HiddenWatchpoints;
using labelscope::test::step;
using labelscope::test::Stepped;
using labelscope::test::stepper;
using namespace std::chrono_literals;

namespace {

bool has_remark(const Stepped& stepped, const std::string& part) {
  for (const std::string& remark : stepped.report.remarks) {
    if (remark.find(part) != std::string::npos) return true;
  }
  return false;
}

// Returns the text of the gap with this name, or nothing if there is none.
std::string gap_of(const Stepped& stepped, const std::string& name) {
  for (const labelscope::cli::CheckGap& gap : stepped.report.gaps) {
    if (gap.name == name) return gap.text;
  }
  return "";
}
bool has_gap(const Stepped& stepped, const std::string& name) {
  return !gap_of(stepped, name).empty();
}

// Returns whether this process has no children: everything that was started has ended and was
// reaped.
bool nothing_is_left() { return ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD; }

Stepped conduct(const std::string& how, const labelscope::cli::StepCheckOptions& options = {}) {
  return step({stepper("conduct-dynamic"), how}, options);
}

}  // namespace

TEST_CASE("check --step: the program has its own exit status") {
  const Stepped stepped = conduct("exit");
  INFO(stepped.told());
  REQUIRE(stepped.report.wait_status);
  CHECK(WIFEXITED(*stepped.report.wait_status));
  CHECK(WEXITSTATUS(*stepped.report.wait_status) == 3);
  CHECK(stepped.report.effort.updates == 4);
  CHECK(stepped.found().empty());
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a program that sets no labels has none") {
  const Stepped stepped = conduct("nothing");
  INFO(stepped.told());
  CHECK(stepped.status);
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 0);
  CHECK(stepped.report.effort.labelled == 0);
}

TEST_CASE("check --step: a program without a writer is a problem") {
  const Stepped stepped = step({"/bin/true"});
  INFO(stepped.told());
  CHECK(stepped.status);
  CHECK(stepped.report.problems.size() == 1);
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a program that is not there is not found") {
  const Stepped stepped = step({"/nonexistent/program"});
  REQUIRE_FALSE(stepped.status);
  CHECK(stepped.status.error().code == labelscope::ErrorCode::kNotFound);
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a crash is the program's own") {
  const Stepped stepped = conduct("crash");
  INFO(stepped.told());
  REQUIRE(stepped.report.wait_status);
  CHECK(WIFSIGNALED(*stepped.report.wait_status));
  CHECK(WTERMSIG(*stepped.report.wait_status) == SIGSEGV);
  CHECK(stepped.report.effort.updates == 4);
  CHECK_FALSE(stepped.report.ended_by_check);
}

TEST_CASE("check --step: a fork runs without breakpoints, and is reported") {
  const Stepped stepped = conduct("fork");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 8);
  CHECK(has_remark(stepped, "not stepped"));
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: children that share the program's memory get through it") {
  const Stepped stepped = conduct("spawn");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.found().empty());
  CHECK(has_remark(stepped, "not stepped"));
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: the children of another program keep the code that they have") {
  const Stepped stepped = step({stepper("conduct-static"), "another", stepper("foreign")});
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 4);
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a child that the program leaves behind ends with it") {
  const Stepped stepped = conduct("leave");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a program that executes another is stepped on") {
  const Stepped stepped = conduct("exec");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 8);
}

TEST_CASE("check --step: when enough was seen, the program is not stopped any more") {
  labelscope::cli::StepCheckOptions options;
  options.max_updates = 2;
  const Stepped stepped = conduct("goes-on", options);
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates >= 2);
  CHECK(stepped.report.effort.updates < 100);
}

TEST_CASE("check --step: a program that blocks signals ends at the timeout") {
  labelscope::cli::StepCheckOptions options;
  options.timeout = 1500ms;
  const Stepped stepped = conduct("block", options);
  INFO(stepped.told());
  CHECK(stepped.report.ended_by_check);
  CHECK(has_remark(stepped, "--timeout"));
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a program that runs for ever ends at the timeout") {
  labelscope::cli::StepCheckOptions options;
  options.timeout = 1500ms;
  const Stepped stepped = conduct("forever", options);
  INFO(stepped.told());
  CHECK(stepped.report.ended_by_check);
  CHECK(stepped.report.effort.updates > 0);
  CHECK(stepped.found().empty());
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: a program that is given up ends") {
  labelscope::cli::StepCheckOptions options;
  options.cancelled = [] { return true; };
  const Stepped stepped = conduct("forever", options);
  INFO(stepped.told());
  CHECK(stepped.report.ended_by_check);
  CHECK(has_remark(stepped, "interrupted"));
  CHECK(nothing_is_left());
}

TEST_CASE("check --step: signals and their handlers come through") {
  labelscope::cli::StepCheckOptions options;
  options.updates = {"set_label_slowly"};
  const Stepped stepped = conduct("signals", options);
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.found().empty());
  CHECK(stepped.report.effort.unseen_updates == 0);
}

TEST_CASE("check --step: a declared update that never ends is reported") {
  labelscope::cli::StepCheckOptions options;
  options.updates = {"set_label_slowly:end_slowly"};
  const Stepped stepped = conduct("signals", options);
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  REQUIRE(stepped.report.gaps.size() == 1);
  CHECK(stepped.report.gaps.front().name == std::string("unended-updates"));
  // The findings were judged while the thread existed.
  for (const labelscope::Diagnostic& found : stepped.found()) CHECK(!found.instruction.empty());
}

TEST_CASE("check --step: a declared update is followed for so many instructions and no more") {
  labelscope::cli::StepCheckOptions options;
  options.updates = {"set_label_slowly:end_slowly"};
  options.max_update_steps = 1'000;
  const Stepped stepped = conduct("signals", options);
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  REQUIRE(has_gap(stepped, "endless-updates"));
  CHECK(gap_of(stepped, "endless-updates").find("within 1,000 instructions") != std::string::npos);
  options.max_update_steps = labelscope::cli::StepCheckOptions().max_update_steps;
  CHECK_FALSE(has_gap(conduct("signals", options), "endless-updates"));
}

TEST_CASE("check --step: a function that is left before its end is reported, unless it is named") {
  labelscope::cli::StepCheckOptions options;
  const Stepped left = conduct("ponder", options);
  INFO(left.told());
  CHECK(left.report.wait_status == 0);
  CHECK(left.report.effort.updates == 2);
  CHECK(has_gap(left, "abandoned-functions"));
  options.updates = {"ponder"};
  const Stepped named = conduct("ponder", options);
  INFO(named.told());
  CHECK_FALSE(has_gap(named, "abandoned-functions"));
  CHECK(named.report.effort.steps > left.report.effort.steps);
}

TEST_CASE("check --step: a program of whose functions nothing is known is reported") {
  const Stepped stepped = step({stepper("conduct-stripped"), "labels"});
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(has_gap(stepped, "no-functions"));
  CHECK_FALSE(has_gap(conduct("labels"), "no-functions"));
}

TEST_CASE("check --step: unwind tables show where functions of a stripped program begin") {
  const Stepped stepped = step({stepper("conduct-nameless"), "labels"});
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.gaps.empty());
  CHECK(stepped.report.effort.updates == 4);
  CHECK(stepped.report.effort.unseen_updates == 0);
}

TEST_CASE("check --step: a jump out of a handler is followed") {
  const Stepped stepped = conduct("jump");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.found().empty());
}

TEST_CASE("check --step: the program's own traps reach it") {
  const Stepped stepped = conduct("trap");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
}

TEST_CASE("check --step: every update of every thread is stepped") {
  const Stepped stepped = conduct("threads");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 80);
  CHECK(stepped.report.effort.unseen_updates == 0);
  CHECK(stepped.report.effort.threads == 5);
}

TEST_CASE("check --step: a thread that waits for a lock does not hold up the others") {
  const Stepped stepped = conduct("locks");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 15);
}

TEST_CASE("check --step: work between updates is not stepped") {
  const Stepped stepped = conduct("work");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 3);
  CHECK(stepped.report.effort.steps < 1'000'000);
}

TEST_CASE("check --step: what is seen while the program sleeps was meant") {
  const Stepped stepped = conduct("naps");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates >= 9);
  CHECK(stepped.found().empty());
}

TEST_CASE("check --step: a sleep that a signal ends was one, too") {
  const Stepped stepped = conduct("dozes");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates >= 5);
  CHECK(stepped.found().empty());
}

TEST_CASE("check --step: an unexpected change is a gap, until it is stepped through") {
  // Without watchpoints the function is stepped through from its first call on.
  const std::uint64_t unseen = has_watchpoints() ? 1 : 0;
  const Stepped once = conduct("scribble");
  INFO(once.told());
  CHECK(once.report.effort.unseen_updates == unseen);
  CHECK(once.report.wait_status == 0);
  REQUIRE(once.report.gaps.size() == unseen);
  if (unseen != 0) {
    CHECK(once.report.gaps.front().name == "unseen-updates");
    CHECK(once.report.gaps.front().text.find("scribble") != std::string::npos);
  }
  const Stepped often = conduct("scribbles");
  INFO(often.told());
  CHECK(often.report.effort.unseen_updates == unseen);
  CHECK(often.report.gaps.empty());
  CHECK(often.report.effort.updates >= once.report.effort.updates + 2);
}

TEST_CASE("check --step: that a machine has no watchpoints, and what then is done, is reported") {
  CHECK(has_remark(conduct("labels"), "no hardware watchpoint") == !has_watchpoints());
  const HiddenWatchpoints hidden;
  const Stepped stepped = conduct("labels");
  INFO(stepped.told());
  CHECK(has_remark(stepped, "stepping began at every function of the program"));
}

TEST_CASE("check --step: without watchpoints, what is changed after long work is a gap") {
  const HiddenWatchpoints hidden;
  const Stepped stepped = conduct("late");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.unseen_updates == 1);
  CHECK(has_gap(stepped, "unseen-updates"));
  CHECK(stepped.report.effort.steps < 1'000'000);
}

TEST_CASE("check --step: without watchpoints, only what works for long by itself is left out") {
  const HiddenWatchpoints hidden;
  const Stepped stepped = conduct("prepares");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.unseen_updates == 0);
  std::set<std::string> functions;
  for (const labelscope::Diagnostic& found : stepped.found()) {
    functions.insert(found.places.at(found.author_place).function);
  }
  CHECK(functions == std::set<std::string>{"change_halves", "prepare_and_change"});
  CHECK(stepped.report.effort.steps < 200'000);
}

TEST_CASE("check --step: without watchpoints, a function that is let go is suspected again") {
  const HiddenWatchpoints hidden;
  const Stepped stepped = conduct("rarely");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.unseen_updates == 1);
  REQUIRE(stepped.found().size() == 1);
  const labelscope::Diagnostic found = stepped.found().front();
  CHECK(found.places.at(found.author_place).function == "change_if");
  CHECK(has_remark(stepped, "let go"));
}

TEST_CASE("check --step: without watchpoints, what threads without labels call often is let go") {
  const HiddenWatchpoints hidden;
  const Stepped stepped = conduct("passes");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(has_remark(stepped, "1 function was let go without a look, after 1,000 calls"));
  CHECK_FALSE(has_remark(conduct("labels"), "without a look"));
}

TEST_CASE("check --step: a thread that is looked at in front of a writer is stepped through it") {
  const Stepped stepped = conduct("waits");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates >= 4);
  CHECK(stepped.report.effort.unseen_updates == 0);
}

TEST_CASE("check --step: a breakpoint of the program's own stays where it is") {
  const Stepped stepped = conduct("breakpoint");
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates == 3);
  CHECK(stepped.found().empty());
}

TEST_CASE("check --step: a library that is loaded later is none from the start") {
  const std::string library = stepper("libcustomlabels_one_by_one_O2.so");
  const Stepped stepped = step({stepper("loads_later"), library});
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.updates >= 3);
  bool told = false;
  for (const labelscope::cli::CheckedSubject& subject : stepped.report.subjects) {
    for (const labelscope::Diagnostic& diagnostic : subject.diagnostics) {
      told |= subject.name == library && diagnostic.rule == labelscope::abi_v1::kLoadedAtStartup;
    }
  }
  CHECK(told);
}

TEST_CASE("check --step: libraries may be unloaded, and others come to their place") {
  const std::string one = stepper("libcustomlabels_one_by_one_O2.so");
  const std::string other = stepper("libcustomlabels_duplicates_first_O0.so");
  std::uint64_t updates = 0;
  for (const std::string& library : {one, one, other}) {
    updates += step({stepper("loads_later"), library}).report.effort.updates;
  }
  const Stepped stepped = step({stepper("loads_later"), one, one, other});
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.found().empty());
  CHECK(stepped.report.effort.updates == updates);
  CHECK(stepped.report.effort.unseen_updates == 0);
}

TEST_CASE("check --step: static programs and those of musl are stepped") {
  for (const char* program : {"conduct-static", "conduct-musl"}) {
    const Stepped stepped = step({stepper(program), "labels"});
    INFO(program << "\n" << stepped.told());
    CHECK(stepped.report.wait_status == 0);
    CHECK(stepped.report.effort.updates == 4);
    CHECK(stepped.report.effort.unseen_updates == 0);
    CHECK(stepped.found().empty());
  }
}

TEST_CASE("check --step: a declared update that is not there is a problem") {
  labelscope::cli::StepCheckOptions options;
  options.updates = {"no_such_function"};
  const Stepped stepped = conduct("labels", options);
  INFO(stepped.told());
  REQUIRE(stepped.report.problems.size() == 1);
  CHECK(stepped.report.problems.front().name.find("no_such_function") != std::string::npos);
}
