// This is the part of the C API for planning, and for reading plans.

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "sampling/snapshot.h"

namespace labelscope::c_api {
namespace {

std::unique_ptr<ls_plan> flatten(ProcessPlan planned) {
  auto plan = std::make_unique<ls_plan>();
  for (std::size_t i = 0; i < planned.publishers.size(); ++i) {
    const Publisher& publisher = planned.publishers[i];
    for (const Finding& finding : publisher.findings) {
      plan->findings.push_back({i, publisher.path, finding});
    }
  }
  for (const Refusal& refusal : planned.refusals) {
    plan->findings.push_back({LS_NO_PUBLISHER, refusal.path, refusal.finding});
  }
  plan->recipes = planned.recipes();
  plan->absence = planned.absence();
  plan->plan = std::move(planned);
  return plan;
}

const Publisher* publisher_at(const ls_plan* plan, std::size_t index) {
  return element(plan == nullptr ? nullptr : &plan->plan.publishers, index);
}

const ls_plan::ModuleFinding* finding_at(const ls_plan* plan, std::size_t index) {
  return element(plan == nullptr ? nullptr : &plan->findings, index);
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_make_plan(ls_target* target, ls_plan** plan, ls_error* error) {
  return answer(
      "ls_make_plan", target != nullptr, plan, error, [&]() -> Result<std::unique_ptr<ls_plan>> {
        // The program is asked for before planning: if the process executes another one meanwhile,
        // the plan fits neither.
        std::string program = target->process ? target->process->program() : std::string();
        auto planned = target->planner.plan(target->get());
        if (!planned) return std::move(planned).error();
        auto made = flatten(*std::move(planned));
        made->program = std::move(program);
        made->may_miss_publisher = target->core && may_miss_publisher(*target->core, made->plan);
        return made;
      });
}

void ls_free_plan(ls_plan* plan) { delete plan; }

int ls_plan_again(const ls_plan* plan) { return plan != nullptr && plan->plan.plan_again ? 1 : 0; }

ls_bytes ls_plan_absence(const ls_plan* plan) {
  return plan == nullptr ? no_bytes() : bytes_of(plan->absence);
}

size_t ls_publisher_count(const ls_plan* plan) {
  return plan == nullptr ? 0 : plan->plan.publishers.size();
}

ls_bytes ls_publisher_path(const ls_plan* plan, size_t publisher) {
  const Publisher* found = publisher_at(plan, publisher);
  return found == nullptr ? no_bytes() : bytes_of(found->path);
}

uint64_t ls_publisher_load_bias(const ls_plan* plan, size_t publisher) {
  const Publisher* found = publisher_at(plan, publisher);
  return found == nullptr ? 0 : found->load_bias;
}

ls_bytes ls_publisher_access_model(const ls_plan* plan, size_t publisher) {
  const Publisher* found = publisher_at(plan, publisher);
  return found == nullptr ? no_bytes() : bytes_of(access_model_name(found->model));
}

const struct ls_tls_recipe* ls_publisher_recipe(const ls_plan* plan, size_t publisher) {
  const Publisher* found = publisher_at(plan, publisher);
  return found == nullptr ? nullptr : &found->recipe;
}

size_t ls_finding_count(const ls_plan* plan) { return plan == nullptr ? 0 : plan->findings.size(); }

size_t ls_finding_publisher(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = finding_at(plan, finding);
  return found == nullptr ? LS_NO_PUBLISHER : found->publisher;
}

ls_bytes ls_finding_path(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->path);
}

ls_bytes ls_finding_name(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(finding_name(found->finding));
}

ls_bytes ls_finding_text(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->finding.text);
}

ls_bytes ls_finding_fix(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->finding.fix);
}
