// This is the part of the C API for planning, and for reading plans.

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "sampling/snapshot.h"

namespace labelscope::c_api {
namespace {

std::unique_ptr<ls_plan> flatten(ProcessPlan planned, const ls_target& target) {
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
  for (const MissingVariable& missing : planned.missing) {
    plan->findings.push_back(
        {LS_NO_PUBLISHER, {}, missing.finding, target.wanted.variable_numbers.at(missing.index)});
  }
  for (const MissingPreset& missing : planned.missing_presets) {
    plan->findings.push_back(
        {LS_NO_PUBLISHER, {}, missing.finding, target.wanted.preset_numbers.at(missing.index)});
  }
  if (planned.facts) {
    for (const Finding& finding : planned.facts->findings) {
      plan->findings.push_back({LS_NO_PUBLISHER, {}, finding});
    }
  }
  plan->recipes = planned.recipes();
  plan->absence = planned.absence();
  plan->plan = std::move(planned);
  return plan;
}

Result<std::unique_ptr<ls_plan>> make_plan(ls_target& target) {
  // Both are asked for before planning: if the process executes or loads something meanwhile, that
  // is a change after the plan.
  std::string program = program_of(target);
  auto mappings = target.get().mappings();
  if (!mappings) return std::move(mappings).error();
  auto planned = plan_target(target);
  if (!planned) return std::move(planned).error();
  auto made = flatten(*std::move(planned), target);
  made->program = std::move(program);
  made->code = mapped_code(*mappings);
  made->may_miss_publisher = target.core && may_miss_publisher(*target.core, made->plan);
  return made;
}

const Publisher* publisher_at(const ls_plan* plan, std::size_t index) {
  return element(plan == nullptr ? nullptr : &plan->plan.publishers, index);
}

const PresetPlan* preset_at(const ls_plan* plan, std::size_t index) {
  const Publisher* found = publisher_at(plan, index);
  return found == nullptr ? nullptr : plan->plan.presets.find(found->recipe);
}

const ls_plan::ModuleFinding* module_finding_at(const ls_plan* plan, std::size_t index) {
  return element(plan == nullptr ? nullptr : &plan->findings, index);
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_make_plan(ls_target* target, ls_plan** plan, ls_error* error) {
  return answer("ls_make_plan: an argument is NULL", target != nullptr, plan, error,
                [&] { return make_plan(*target); });
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

ls_bytes ls_publisher_named(const ls_plan* plan, size_t publisher) {
  const Publisher* found = publisher_at(plan, publisher);
  return found == nullptr ? no_bytes() : bytes_of(found->named);
}

const struct ls_tls_recipe* ls_publisher_recipe(const ls_plan* plan, size_t publisher) {
  const Publisher* found = publisher_at(plan, publisher);
  return found == nullptr ? nullptr : &found->recipe;
}

const struct ls_preset_program* ls_publisher_program(const ls_plan* plan, size_t publisher) {
  const PresetPlan* preset = preset_at(plan, publisher);
  return preset == nullptr ? nullptr : &preset->program;
}

uint32_t ls_publisher_program_number(const ls_plan* plan, size_t publisher) {
  const PresetPlan* preset = preset_at(plan, publisher);
  return preset == nullptr ? 0 : preset->number;
}

size_t ls_finding_count(const ls_plan* plan) { return plan == nullptr ? 0 : plan->findings.size(); }

size_t ls_finding_publisher(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = module_finding_at(plan, finding);
  return found == nullptr ? LS_NO_PUBLISHER : found->publisher;
}

size_t ls_finding_wanted(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = module_finding_at(plan, finding);
  return found == nullptr ? LS_NOT_WANTED : found->wanted;
}

ls_bytes ls_finding_path(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = module_finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->path);
}

ls_bytes ls_finding_name(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = module_finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(finding_name(found->finding));
}

ls_bytes ls_finding_text(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = module_finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->finding.text);
}

ls_bytes ls_finding_fix(const ls_plan* plan, size_t finding) {
  const ls_plan::ModuleFinding* found = module_finding_at(plan, finding);
  return found == nullptr ? no_bytes() : bytes_of(found->finding.fix);
}
