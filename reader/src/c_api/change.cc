// This is the part of the C API that notices what a target has done since a plan was made: executed
// a program, loaded or unloaded files, published something else about itself.
#include <algorithm>
#include <utility>

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "labelscope/process_facts.h"

namespace labelscope::c_api {
namespace {

std::string name_of_process(const ls_target& target) {
  return "process " + std::to_string(raw(target.process->pid()));
}

bool has_new_facts(const ls_target& target, const ls_plan& plan,
                   const std::vector<Mapping>& mappings) {
  const ProcessFacts* facts = plan.plan.facts.get();
  const MemorySource& memory = target.get().memory();
  if (facts != nullptr && facts->has_context()) return has_changed(*facts, memory);
  const auto now = read_process_facts(target.get(), mappings, plan.plan.needs_facts());
  return now != nullptr && now->has_context();
}

// Says what has changed in a process that runs the plan's program.
Result<ls_plan_state> change_of(const ls_target& target, const ls_plan& plan) {
  auto mappings = target.process->mappings();
  if (!mappings) return std::move(mappings).error();
  if (mapped_code(*mappings) != plan.code) return LS_PLAN_NEW_CODE;
  if (has_new_facts(target, plan, *mappings)) return LS_PLAN_NEW_FACTS;
  return plan.plan.plan_again ? LS_PLAN_UNFILLED : LS_PLAN_GOOD;
}

Result<ls_plan_state> state_of(const ls_target& target, const ls_plan& plan) {
  auto change = target.core ? Result<ls_plan_state>(LS_PLAN_GOOD) : change_of(target, plan);
  // This comes last: if the program is still the plan's, all that was seen is of that program.
  if (Status same = check_program(target, plan); !same) {
    // A process that has ended has no program; one that has executed another goes on.
    if (target.core || program_of(target).empty()) return std::move(same).error();
    return LS_PLAN_OTHER_PROGRAM;
  }
  return change;
}

}  // namespace

std::vector<MappedCode> mapped_code(const std::vector<Mapping>& mappings) {
  std::vector<MappedCode> code;
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable || !mapping.file) continue;
    code.push_back({mapping.start, mapping.end, mapping.file_offset, mapping.file});
  }
  return code;
}

std::string program_of(const ls_target& target) {
  if (target.process) return target.process->program();
  return "core of process " + std::to_string(raw(target.core->pid()));
}

Result<ProcessPlan> plan_target(ls_target& target, PlanTrace* trace) {
  if (target.process && target.process->has_replaced_program()) {
    auto again = LiveProcess::open(target.process->pid());
    if (!again) return std::move(again).error();
    target.process = *std::move(again);
  }
  return target.planner.plan(target.get(), trace);
}

Status check_program(const ls_target& target, const ls_plan& plan) {
  const std::string program = program_of(target);
  if (target.core) {
    if (program == plan.program && target.code == plan.code) return {};
    return Error{ErrorCode::kNotFound, "the plan is not of this core file"};
  }
  if (program == plan.program) return {};
  return Error{
      ErrorCode::kVanished,
      name_of_process(target) + (program.empty() ? " has ended"
                                                 : " runs another program than the plan was made "
                                                   "for: plan again")};
}

}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_check_plan(const ls_target* target, const ls_plan* plan, ls_plan_state* state,
                            ls_error* error) {
  if (state != nullptr) *state = LS_PLAN_OTHER_PROGRAM;
  if (target == nullptr || plan == nullptr || state == nullptr) {
    return fail(error, LS_ERROR_ARGUMENT, "ls_check_plan: an argument is NULL");
  }
  return guard(error, [&] {
    const auto found = state_of(*target, *plan);
    if (!found) return fail(error, found.error());
    *state = *found;
    return succeed(error);
  });
}
