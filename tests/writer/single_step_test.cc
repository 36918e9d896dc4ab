// The proof of the writer's promise: at no instruction of any call does a reader see a set that was
// not set.
#include "writer/single_step.h"

#include <pthread.h>

#include <cstring>
#include <string>
#include <thread>

#include "customlabels/labels.hpp"
#include "support/catch.h"

namespace {

SingleStepReport step_or_skip(const std::vector<LabelStep>& steps,
                              LastStep last = LastStep::kReturns) {
#if defined(__SANITIZE_THREAD__)
  skip_test("the thread sanitizer's own instructions would be stepped too: far too many");
#endif
  std::optional<SingleStepReport> report = single_step(steps, last);
  if (!report) skip_test("this process may not trace its own child (seccomp or yama?)");
  return std::move(*report);
}

void require_clean(const SingleStepReport& report) {
  for (const std::string& finding : report.findings) UNSCOPED_INFO(finding);
  CHECK(report.findings.empty());
}

// A writer as one would write it first: one set, changed where it lies.
namespace naive {
unsigned char value[16];
custom_labels_label_t label = {{6, reinterpret_cast<const unsigned char*>("tenant")}, {0, value}};
custom_labels_labelset_t set = {&label, 1, 1};

void set_tenant(const char* text) {
  custom_labels_current_set = &set;
  volatile unsigned char* to = value;
  label.value.len = std::strlen(text);
  for (std::size_t i = 0; i < label.value.len; ++i) to[i] = static_cast<unsigned char>(text[i]);
}
}  // namespace naive

}  // namespace

TEST_CASE("single_step: every call shows the old or the new set after each instruction") {
  const std::vector<LabelStep> steps = label_steps();
  const SingleStepReport report = step_or_skip(steps);
  require_clean(report);
  // Each step was stepped: even a refused call is more than ten instructions.
  CHECK(report.instructions > 10 * steps.size());
}

TEST_CASE("single_step: a thread that ends shows its labels or none, never freed memory") {
  SingleStepReport report;
  // A thread of its own, whose shallow stack pthread_exit unwinds in the child.
  std::thread thread([&] {
    report = step_or_skip(
        {{"set a label", [] { customlabels::set("tenant", "acme"); }, {{"tenant", "acme"}}},
         {"end the thread", [] { pthread_exit(nullptr); }, {}}},
        LastStep::kEndsThread);
  });
  thread.join();
  require_clean(report);
}

TEST_CASE("single_step: a writer that changes its set in place is found out") {
  const SingleStepReport report =
      step_or_skip({{"first", [] { naive::set_tenant("acme"); }, {{"tenant", "acme"}}},
                    {"longer", [] { naive::set_tenant("globex"); }, {{"tenant", "globex"}}}});
  REQUIRE_FALSE(report.findings.empty());
  CHECK(report.findings[0].find("a set that was never set") != std::string::npos);
}
