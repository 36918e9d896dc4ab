// Writers that are wrong in one way are found by the right rule, in the right function, at the
// right line, and nothing else is found. In right writers nothing is found.
#include <algorithm>
#include <iostream>

#include "findings/check_rule.h"
#include "step/stepped_program.h"
#include "support/catch.h"
#include "support/paths.h"

using labelscope::cli::StepCheckOptions;
using labelscope::test::Expectation;
using labelscope::test::expectations_of;
using labelscope::test::has_watchpoints;
using labelscope::test::step;
using labelscope::test::Stepped;
using labelscope::test::stepper;

namespace {

struct Build {
  const char* name;
  bool library;
};
constexpr Build kBuilds[] = {
    {"executable-O0", false}, {"executable-O2", false}, {"library-O0", true}, {"library-O2", true}};

void check_found(const std::string& writer, const std::string& source,
                 const std::set<Expectation>& expected, const StepCheckOptions& options = {}) {
  for (const Build& build : kBuilds) {
    const Stepped stepped = step({stepper(writer + "-" + build.name)}, options);
    INFO(writer << "-" << build.name << "\n" << stepped.told());
    REQUIRE(stepped.status);
    CHECK(stepped.report.problems.empty());
    CHECK(stepped.report.wait_status == 0);
    CHECK(stepped.places(source) == expected);
    CHECK(stepped.report.effort.updates >= 3);
  }
}

void check_found(const std::string& writer) {
  const std::string source = writer + ".c";
  const std::set<Expectation> expected = expectations_of(source);
  REQUIRE(!expected.empty());
  check_found(writer, source, expected);
}

}  // namespace

TEST_CASE("check --step: a value that is overwritten in place is torn") { check_found("in_place"); }

TEST_CASE("check --step: a value that libc overwrites for the writer is the writer's") {
  check_found("copy_in_place");
}

TEST_CASE("check --step: a value that a template overwrites for the writer is the writer's") {
  const std::string source = "template_in_place.cc";
  const Stepped stepped = step({stepper("template_in_place")});
  INFO(stepped.told());
  CHECK(stepped.places(source) == expectations_of(source));
}

TEST_CASE("check --step: a length that is updated before its pointer is torn") {
  check_found("length_first");
}

TEST_CASE("check --step: a pointer that is updated before its length is torn") {
  check_found("pointer_first");
}

TEST_CASE("check --step: a thread context in the same file is no label set, and hides none") {
  check_found("with_context");
}

TEST_CASE("check --step: an OpenTelemetry record that changes while it counts is torn") {
  check_found("otel_in_place");
  check_found("otel_two_stores");
}

TEST_CASE("check --step: a thread context with the IDs of two spans is torn") {
  check_found("context_late_root");
}

TEST_CASE("check --step: an OpenTelemetry record may be none while it changes, or be swapped") {
  for (const char* writer : {"otel_marked", "otel_swapped"}) {
    check_found(writer, std::string(writer) + ".c", {});
  }
}

TEST_CASE("check --step: a mistake of the process context is one finding, and no thread's") {
  struct Flaw {
    const char* writer;
    const char* rule;
    const char* threads;
  };
  for (const Flaw& flaw :
       {Flaw{"otel_unpublished", "LS234", "3"}, Flaw{"otel_moved", "LS222", "0"}}) {
    for (const Build& build : kBuilds) {
      const Stepped stepped =
          step({stepper(std::string(flaw.writer) + "-" + build.name), "3", flaw.threads});
      INFO(flaw.writer << "-" << build.name << "\n" << stepped.told());
      const std::vector<labelscope::Diagnostic> found = stepped.found();
      REQUIRE(found.size() == 1);
      CHECK(labelscope::rule_of(found.front().rule).code == std::string(flaw.rule));
      CHECK(found.front().subject.empty());
      CHECK(found.front().places.empty());
    }
  }
}

TEST_CASE("check --step: a count that is raised before its element is filled is torn") {
  check_found("count_first");
}

TEST_CASE("check --step: what is freed before the swap is found where it is freed") {
  check_found("freed_first");
}

TEST_CASE("check --step: places are the instruction and then its callers, innermost first") {
  const Stepped stepped = step({stepper("freed_first-library-O0")});
  INFO(stepped.told());
  const std::vector<labelscope::Diagnostic> found = stepped.found();
  REQUIRE_FALSE(found.empty());
  const auto index_of = [&](const std::string& function) {
    const auto& places = found.front().places;
    return std::find_if(
               places.begin(), places.end(),
               [&](const labelscope::CodePlace& place) { return place.function == function; }) -
           places.begin();
  };
  const auto author = static_cast<std::ptrdiff_t>(found.front().author_place);
  CHECK(author > 0);  // the instruction is in free()
  CHECK(found.front().places.front().file.find("freed_first.c") == std::string::npos);
  CHECK(index_of("stepper_update") == author);
  CHECK(index_of("main") > author);
}

TEST_CASE("check --step: a value that is null before its key is breaks the rule of values") {
  check_found("null_value");
}

TEST_CASE("check --step: a set of elements without keys is noted, whether it has a label or not") {
  for (const char* writer : {"LS046-key_null", "LS046-only_key_null"}) {
    const Stepped stepped = step({std::string(paths::kLiveViolators) + "/" + writer + "/program"});
    INFO(writer << '\n' << stepped.told());
    std::set<std::string> codes;
    for (const auto& subject : stepped.report.subjects) {
      for (const auto& diagnostic : subject.diagnostics) {
        codes.insert(labelscope::rule_of(diagnostic.rule).code);
      }
    }
    CHECK(codes == std::set<std::string>{"LS046"});
    CHECK(stepped.report.effort.updates == 1);
    CHECK(stepped.report.problems.empty());
  }
}

TEST_CASE("check --step: a helper that was long once hides nothing when it is short") {
  check_found("short_after_long");
}

// At first nothing stops the program: the change is noticed by a look now and then.
TEST_CASE("check --step: a value without a watchpoint is learned from what changes") {
  StepCheckOptions options;
  options.max_updates = 50;
  for (const char* build : {"executable-O0", "executable-O2"}) {
    const Stepped stepped = step({stepper(std::string("beyond_watch-") + build), "5000"}, options);
    INFO(build << "\n" << stepped.told());
    CHECK(stepped.report.wait_status == 0);
    // Without watchpoints the function is stepped through from its first call on.
    CHECK((stepped.report.effort.unseen_updates > 0) == has_watchpoints());
    CHECK(stepped.places("beyond_watch.c") == expectations_of("beyond_watch.c"));
  }
}

TEST_CASE("check --step: the last change of a thread is counted if it was not seen") {
  const Stepped stepped = step({stepper("beyond_watch-executable-O2"), "1"});
  INFO(stepped.told());
  CHECK(stepped.report.wait_status == 0);
  CHECK(stepped.report.effort.unseen_updates == (has_watchpoints() ? 1 : 0));
}

TEST_CASE("check --step: to ask the kernel without waiting is no pause in an update") {
  check_found("polls_between");
}

TEST_CASE("check --step: what a callback sees was meant, be it a function of libc") {
  check_found("runs_with", "runs_with.c", {});
}

TEST_CASE("check --step: two labels, one by one, are torn only where they are one update") {
  const auto expected = expectations_of("two_labels.c");
  StepCheckOptions declared;
  declared.updates = {"apply_both"};
  for (const Build& build : kBuilds) {
    const std::string program = stepper(std::string("two_labels-") + build.name);
    const Stepped by_itself = step({program});
    INFO(build.name << "\n" << by_itself.told());
    // Each call of a library is an update. In a program that is not known.
    CHECK(by_itself.places("two_labels.c") == (build.library ? expected : std::set<Expectation>{}));
    const Stepped named = step({program}, declared);
    INFO(named.told());
    CHECK(named.places("two_labels.c") == expected);
  }
}

TEST_CASE("check --step: a pair of functions declares an update, by name or by option") {
  const auto expected = expectations_of("two_labels.c");
  check_found("two_labels_declared", "two_labels.c", expected);
  StepCheckOptions pair;
  pair.updates = {"labelscope_update_begin:labelscope_update_end"};
  check_found("two_labels_declared", "two_labels.c", expected, pair);
}

TEST_CASE("check --step: sets before, seen and after, and the instruction are reported") {
  const Stepped stepped = step({stepper("length_first-executable-O2"), "1"});
  INFO(stepped.told());
  REQUIRE(stepped.found().size() == 1);
  const labelscope::Diagnostic found = stepped.found().front();
  CHECK(found.set_before == R"({key="initial value, the longest"})");
  CHECK(found.set_seen == R"({key="initial val"})");
  CHECK(found.set_after == R"({key="first value"})");
  CHECK(found.instruction.find("mov") != std::string::npos);
}

TEST_CASE("check --step: a place is reported once, with a count") {
  const Stepped stepped = step({stepper("length_first-executable-O2"), "8"});
  INFO(stepped.told());
  REQUIRE(stepped.found().size() == 1);
  CHECK(stepped.found().front().count >= 5);
}

TEST_CASE("check --step: threads of one program are all stepped") {
  for (const char* program : {"length_first-executable-O2", "length_first-library-O2"}) {
    const Stepped stepped = step({stepper(program), "4", "4"});
    INFO(stepped.told());
    CHECK(stepped.places("length_first.c") == expectations_of("length_first.c"));
    CHECK(stepped.report.effort.threads == 5);
    CHECK(stepped.report.wait_status == 0);
  }
}

TEST_CASE("check --step: a writer that makes duplicates first is right") {
  check_found("duplicates_first", "duplicates_first.c", {});
}

TEST_CASE("check --step: labels that are set one by one, inlined, are right") {
  check_found("one_by_one", "one_by_one.c", {});
}

TEST_CASE("check --step: the bundled writer is right at every instruction of every call") {
  for (const Build& build : kBuilds) {
    const Stepped stepped = step({stepper(std::string("bundled-") + build.name), "1"});
    INFO(build.name << "\n" << stepped.told());
    REQUIRE(stepped.status);
    CHECK(stepped.found().empty());
    CHECK(stepped.report.problems.empty());
    CHECK(stepped.report.wait_status == 0);
    CHECK(stepped.report.effort.unseen_updates == 0);
    // The source has at least this number of calls in a turn that change labels.
    CHECK(stepped.report.effort.updates >= 25);
  }
}

TEST_CASE("check --step: the bundled writer is right on several threads") {
  for (const char* program : {"bundled-executable-O2", "bundled-library-O2"}) {
    const Stepped stepped = step({stepper(program), "1", "4"});
    INFO(program << "\n" << stepped.told());
    CHECK(stepped.found().empty());
    // The function that runs at the end of a thread is not known by its name, and must be learned
    // once.
    CHECK(stepped.report.effort.unseen_updates <= 1);
    CHECK(stepped.report.effort.updates >= 100);
    CHECK(stepped.report.wait_status == 0);
  }
}

// The return of a handler has a breakpoint, from which another thread may be about to step.
TEST_CASE("check --step: the bundled writer is right on several threads that get signals") {
  const Stepped stepped = step({stepper("bundled-executable-O2"), "1", "8", "alarms"});
  INFO(stepped.told());
  CHECK(stepped.found().empty());
  CHECK(stepped.report.effort.updates >= 200);
  CHECK(stepped.report.wait_status == 0);
}

TEST_CASE("check --step: a thousand updates of the bundled writer") {
  StepCheckOptions options;
  options.max_updates = 1000;
  options.timeout = std::chrono::minutes(3);  // the machine may be busy
  const Stepped stepped = step({stepper("bundled-library-O2"), "200"}, options);
  INFO(stepped.told());
  CHECK(stepped.found().empty());
  CHECK(stepped.report.effort.updates >= 1000);
  CHECK(stepped.report.wait_status == 0);
  const double seconds = std::chrono::duration<double>(stepped.report.effort.stepping).count();
  std::cout << stepped.report.effort.updates << " updates, " << stepped.report.effort.steps
            << " instructions in " << seconds
            << " s: " << static_cast<double>(stepped.report.effort.steps) / seconds
            << " instructions per second\n";
}
