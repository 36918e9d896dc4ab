// The proof of the writer's promise: at no instruction of any call does a reader see a set that was
// not set. And the proof that this would be seen: a writer that does not keep it.
#include "writer/single_step.h"

#include <pthread.h>

#include <thread>

#include "customlabels/labels.hpp"
#include "support/catch.h"
#include "writer/naive_writer.h"
#include "writer/step_labels.h"

namespace {

void require_clean(const LabelStepReport& report) {
  for (const Finding& finding : report.findings) UNSCOPED_INFO(finding.text);
  CHECK(report.findings.empty());
}

// Steps through the chain of the naive writer; true if its last step shows the violation.
bool last_step_shows(Violation violation, const std::vector<LabelStep>& steps) {
  naive_reset();
  const LabelStepReport report = step_labels(steps);
  bool shown = false;
  for (const Finding& finding : report.findings) {
    UNSCOPED_INFO(finding.text);
    shown |= finding.violation == violation && finding.text.rfind(steps.back().name, 0) == 0;
  }
  return shown;
}

const LabelStep kNaiveTenant = {
    "naive: a label", [] { naive_set("tenant", "acme"); }, {{"tenant", "acme"}}};
const LabelStep kNaiveTwo = {"naive: two labels",
                             [] { naive_set_two("route", "/pay", "tenant", "acme"); },
                             {{"route", "/pay"}, {"tenant", "acme"}}};

}  // namespace

TEST_CASE("single_step: every call shows the old or the new set after each instruction") {
  const std::vector<LabelStep> steps = label_steps();
  const LabelStepReport report = step_labels(steps);
  require_clean(report);
  // Each step was stepped: even a refused call is more than ten instructions.
  CHECK(report.instructions > 10 * steps.size());
}

TEST_CASE("single_step: a thread that ends shows its labels or none, never freed memory") {
  LabelStepReport report;
  // A thread of its own, whose shallow stack pthread_exit unwinds in the child.
  std::thread thread([&] {
    report = step_labels(
        {{"set a label", [] { customlabels::set("tenant", "acme"); }, {{"tenant", "acme"}}},
         {"end the thread", [] { pthread_exit(nullptr); }, {}}},
        LastStep::kEndsThread);
  });
  thread.join();
  require_clean(report);
}

TEST_CASE("single_step: a naive writer's value is seen half overwritten") {
  CHECK(last_step_shows(
      Violation::kTornLabel,
      {kNaiveTenant,
       {"naive: another value", [] { naive_set("tenant", "globex"); }, {{"tenant", "globex"}}}}));
}

TEST_CASE("single_step: a naive writer's two labels are seen one by one") {
  CHECK(last_step_shows(Violation::kMixture,
                        {kNaiveTwo,
                         {"naive: both with other values",
                          [] { naive_set_two("route", "/car", "tenant", "umbr"); },
                          {{"route", "/car"}, {"tenant", "umbr"}}}}));
}

TEST_CASE("single_step: a naive writer's removed label is seen without its value") {
  CHECK(last_step_shows(
      Violation::kNullValue,
      {kNaiveTwo, {"naive: one removed", [] { naive_remove("tenant"); }, {{"route", "/pay"}}}}));
}

TEST_CASE("single_step: a naive writer's labels are looked for in memory that it gave back") {
  CHECK(last_step_shows(Violation::kUnreadable,
                        {kNaiveTenant,
                         {"naive: move once", naive_move, {{"tenant", "acme"}}},
                         {"naive: move again", naive_move, {{"tenant", "acme"}}}}));
}

TEST_CASE("single_step: a naive writer's scope leaves an empty value behind") {
  CHECK(last_step_shows(Violation::kUnchanged,
                        {kNaiveTenant,
                         {"naive: enter",
                          [] { naive_enter("job", "import"); },
                          {{"job", "import"}, {"tenant", "acme"}}},
                         {"naive: leave", [] { naive_leave("job"); }, {{"tenant", "acme"}}}}));
}

TEST_CASE("single_step: a call that shows the new set, the old and the new again is found out") {
  const auto act = [] {
    customlabels::set("tenant", "acme");
    customlabels::clear();
    customlabels::set("tenant", "acme");
  };
  const LabelStepReport report = step_labels({{"there and back", act, {{"tenant", "acme"}}}});
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].violation == Violation::kOldAgain);
}
