// Proves the writer's promise: at no instruction of any call does a reader see a set that was not
// set. It also proves that the test would see such a set, with a writer that breaks the promise.
#include "writer/single_step.h"

#include <pthread.h>

#include <string_view>
#include <thread>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "customlabels/pprof.hpp"
#include "support/catch.h"
#include "writer/naive_writer.h"
#include "writer/step_labels.h"

namespace {

// There are fewer calls than at full speed, because each instruction costs a tenth of a millisecond
// here.
constexpr std::size_t kRandomCalls = 150;

custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

void* end_step_and_return(void* argument) {
  end_step();
  return argument;
}

void require_clean(const LabelStepReport& report) {
  for (const Finding& finding : report.findings) UNSCOPED_INFO(finding.text);
  CHECK(report.findings.empty());
}

// Steps through the chain of the naive writer. Returns true if its last step shows the violation.
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
  // Each step was stepped through: even a refused call has more than ten instructions.
  CHECK(report.instructions > 10 * steps.size());
}

TEST_CASE("single_step: every change of a set object shows the old or the new labels") {
  const std::vector<LabelStep> steps = label_set_steps();
  const LabelStepReport report = step_labels(steps);
  require_clean(report);
  CHECK(report.instructions > 10 * steps.size());
}

TEST_CASE("single_step: any calls in any order show the old or the new set") {
  const unsigned seed = Catch::rngSeed();
  INFO("random_steps(" << seed << ", " << kRandomCalls << ")");
  require_clean(step_labels(random_steps(seed, kRandomCalls)));
}

TEST_CASE("single_step: run_with sets its labels at once, and puts back what was there at once") {
  custom_labels_labelset_t* set = nullptr;
  const auto with_labels = [](custom_labels_labelset_t* in) {
    custom_labels_label_t labels[] = {{raw("job"), raw("import")}, {raw("tenant"), raw("globex")}};
    custom_labels_run_with(in, labels, 2, end_step_and_return, nullptr, nullptr);
  };
  require_clean(step_labels({
      {"install a set",
       [&] {
         set = custom_labels_new(1);
         custom_labels_set(set, raw("tenant"), raw("acme"), nullptr);
         custom_labels_replace(set);
       },
       {{"tenant", "acme"}}},
      {"run_with sets", [&] { with_labels(set); }, {{"job", "import"}, {"tenant", "globex"}}},
      {"run_with puts back", nullptr, {{"tenant", "acme"}}},
      {"it is not installed any more", [] { custom_labels_replace(nullptr); }, {}},
      {"run_with on a set that is not", [&] { with_labels(set); }, {}},
      {"and it is not", nullptr, {}},
  }));
}

TEST_CASE("single_step: Do adds its labels at once and takes them away at once") {
  namespace labels = customlabels::labels;
  const auto stop = [] { end_step(); };
  require_clean(step_labels({
      {"a label", [] { customlabels::set("tenant", "acme"); }, {{"tenant", "acme"}}},
      {"enter Do",
       [&] { labels::Do(labels::Labels("job", "import", "tenant", "globex"), stop); },
       {{"job", "import"}, {"tenant", "globex"}}},
      {"leave Do", nullptr, {{"tenant", "acme"}}},
      {"enter an inherited task",
       [&] {
         auto task = labels::Inherit(stop);
         customlabels::set("tenant", "globex");
         end_step();
         task();
       },
       {{"tenant", "globex"}}},
      {"in it", nullptr, {{"tenant", "acme"}}},
      {"leave it", nullptr, {{"tenant", "globex"}}},
  }));
}

TEST_CASE("single_step: an exception takes the labels of its scope away at once") {
  namespace labels = customlabels::labels;
  const auto enter_and_throw = [] {
    try {
      labels::Do(labels::Labels("job", "import"), [] {
        end_step();
        throw 1;
      });
    } catch (int) {
    }
  };
  require_clean(step_labels({
      {"a label", [] { customlabels::set("tenant", "acme"); }, {{"tenant", "acme"}}},
      {"enter Do", enter_and_throw, {{"job", "import"}, {"tenant", "acme"}}},
      {"throw and catch", nullptr, {{"tenant", "acme"}}},
  }));
}

TEST_CASE("single_step: a thread that ends shows its labels or none, never freed memory") {
  LabelStepReport report;
  const auto end_thread = [] {
    end_step_with_thread();
    pthread_exit(nullptr);
  };
  // The thread has a shallow stack, which pthread_exit unwinds in the child.
  std::thread thread([&] {
    report = step_labels(
        {{"set a label", [] { customlabels::set("tenant", "acme"); }, {{"tenant", "acme"}}},
         {"end the thread", end_thread, {}}});
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
