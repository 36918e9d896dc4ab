// This is the part of the C API for explanations as lines.
#include "labelscope/explain.h"

#include "c_api/boundary.h"
#include "c_api/objects.h"

namespace labelscope::c_api {
namespace {

// The steps come first, in the order in which they were taken; then what is wrong, each with its
// fix.
std::unique_ptr<ls_explanation> lines_of(Explanation explained) {
  auto explanation = std::make_unique<ls_explanation>();
  explanation->lines = std::move(explained.steps);
  for (const Finding& finding : explained.findings) {
    explanation->lines.push_back(finding_title(finding) + ": " + finding_clause(finding));
  }
  return explanation;
}

Result<std::unique_ptr<ls_explanation>> explain_one(const ls_target& target, const ls_plan& plan,
                                                    Tid tid) {
  Explanation explained;
  auto held = with_held_thread(target, plan, tid,
                               [&](const ThreadState& thread, const MemorySource& memory) {
                                 explained = explain_thread(plan.plan, thread, memory);
                               });
  if (!held) return std::move(held).error();
  return lines_of(std::move(explained));
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_explain_plan(ls_target* target, ls_explanation** explanation, ls_error* error) {
  return answer("ls_explain_plan: an argument is NULL", target != nullptr, explanation, error,
                [&]() -> Result<std::unique_ptr<ls_explanation>> {
                  PlanTrace trace;
                  auto plan = plan_target(*target, &trace);
                  if (!plan) return std::move(plan).error();
                  return lines_of(explain_plan(*plan, trace));
                });
}

ls_error_code ls_explain_thread(const ls_target* target, const ls_plan* plan, int32_t tid,
                                ls_explanation** explanation, ls_error* error) {
  return answer("ls_explain_thread: an argument is NULL", target != nullptr && plan != nullptr,
                explanation, error, [&] { return explain_one(*target, *plan, Tid{tid}); });
}

void ls_free_explanation(ls_explanation* explanation) { delete explanation; }

size_t ls_explanation_line_count(const ls_explanation* explanation) {
  return explanation == nullptr ? 0 : explanation->lines.size();
}

ls_bytes ls_explanation_line(const ls_explanation* explanation, size_t line) {
  if (line >= ls_explanation_line_count(explanation)) return no_bytes();
  return bytes_of(explanation->lines[line]);
}
