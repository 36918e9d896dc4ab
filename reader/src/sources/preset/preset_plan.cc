// This gives the plans of presets their numbers, and checks their programs.
#include "labelscope/preset_plan.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace labelscope {
namespace {

// Returns what distinguishes a plan from others, as bytes.
std::string content_of(const PresetPlan& plan) {
  std::string bytes(sizeof plan.program, '\0');
  std::memcpy(bytes.data(), &plan.program, sizeof plan.program);
  const auto append = [&bytes](const std::string& text) {
    bytes.append(text.c_str(), text.size() + 1);  // with its NUL, so that "a" "bc" is not "ab" "c"
  };
  append(plan.name);
  for (const PresetLabel& label : plan.labels) {
    append(label.key);
    append(label.transform_text);
  }
  for (const auto& [step, words] : plan.words) append(std::to_string(step) + words);
  return bytes;
}

std::uint32_t digest_of(const PresetPlan& plan) {
  const std::uint64_t hash = std::hash<std::string>()(content_of(plan));
  return std::max(static_cast<std::uint32_t>(hash ^ hash >> 32), 1U);
}

bool is_width(unsigned size) { return size == 1 || size == 2 || size == 4 || size == 8; }

bool is_slot(std::uint64_t number) { return number < LS_PRESET_SLOTS; }

// Returns what is wrong with the kind and the size of a label. `step.size` is its kind.
std::string label_problem(const ls_preset_step& step) {
  const auto is_any_of = [&](std::initializer_list<unsigned> kinds) {
    return std::ranges::find(kinds, unsigned{step.size}) != kinds.end();
  };
  if (step.to >= LS_PRESET_LABELS) return "gives label " + std::to_string(step.to);
  if (step.op == LS_PRESET_EMIT) {
    if (!is_any_of({LS_VARIABLE_UNSIGNED, LS_VARIABLE_SIGNED, LS_VARIABLE_FLOAT, LS_VARIABLE_BOOL,
                    LS_VARIABLE_HEX})) {
      return "gives no number";
    }
    const bool fits = step.size == LS_VARIABLE_BOOL ? step.offset == 1
                      : step.size == LS_VARIABLE_FLOAT
                          ? step.offset == 4 || step.offset == 8
                          : step.offset >= 0 && is_width(static_cast<unsigned>(step.offset));
    return fits ? "" : "gives a number of " + std::to_string(step.offset) + " bytes";
  }
  if (step.op == LS_PRESET_EMIT_TEXT && step.size == LS_VARIABLE_TEXT) return "";
  if (step.op == LS_PRESET_EMIT_TEXT && step.size == LS_VARIABLE_SLICE) {
    return is_slot(step.value) ? "" : "uses slot " + std::to_string(step.value);
  }
  if (step.op == LS_PRESET_EMIT_NAME) {
    return step.size == LS_VARIABLE_ARRAY ? "" : "gives no text";
  }
  if (!is_any_of({LS_VARIABLE_ARRAY, LS_VARIABLE_HEX})) return "gives no text";
  if (step.value != 0 && step.value <= LS_VARIABLE_MAX_BYTES) return "";
  return "gives " + std::to_string(step.value) + " bytes";
}

std::string comparison_problem(const ls_preset_step& step, std::size_t left) {
  const unsigned comparison = step.size & ~unsigned{LS_PRESET_WITH_SLOT};
  if (comparison == 0 || comparison >= LS_PRESET_COMPARISONS_END) return "compares in no known way";
  if ((step.size & LS_PRESET_WITH_SLOT) != 0 && !is_slot(step.to)) {
    return "uses slot " + std::to_string(step.to);
  }
  if (step.op == LS_PRESET_NEED) return "";
  // It may skip all the rest, so that nothing follows.
  if (step.offset < 0 || static_cast<std::size_t>(step.offset) > left) {
    return "skips " + std::to_string(step.offset) + " of " + std::to_string(left) + " steps";
  }
  return "";
}

std::string memory_problem(const ls_preset_step& step) {
  const bool in_block = step.op == LS_PRESET_FIELD || step.op == LS_PRESET_EMIT_FIELD;
  const bool number = step.op == LS_PRESET_READ || step.op == LS_PRESET_FIELD;
  const unsigned width = step.size & ~unsigned{LS_PRESET_SIGNED};
  if (number && !is_width(width)) return "reads " + std::to_string(width) + " bytes";
  if (in_block) {
    const std::uint64_t size = number ? width : step.value;
    if (step.from >= LS_PRESET_BLOCKS) return "uses block " + std::to_string(step.from);
    if (step.offset < 0 || step.offset + size > LS_PRESET_BLOCK_BYTES) {
      return "reads outside of its block";
    }
    return "";
  }
  if (std::abs(std::int64_t{step.offset}) > LS_PRESET_OFFSET) {
    return "has the offset " + std::to_string(step.offset);
  }
  if (step.op == LS_PRESET_BLOCK) {
    if (step.to >= LS_PRESET_BLOCKS) return "uses block " + std::to_string(step.to);
    if (step.value == 0 || step.value > LS_PRESET_BLOCK_BYTES) {
      return "reads " + std::to_string(step.value) + " bytes";
    }
  }
  if (step.op == LS_PRESET_FIND) {
    if (step.size == 0 || step.size > LS_PRESET_NODES) {
      return "searches " + std::to_string(step.size) + " nodes";
    }
    if (step.value >> 32 > LS_PRESET_OFFSET) {
      return "has the offset " + std::to_string(step.value >> 32);
    }
  }
  return "";
}

std::string step_problem(const ls_preset_step& step, std::size_t left) {
  if (step.op == 0 || step.op >= LS_PRESET_OPS_END) {
    return "is no known step: " + std::to_string(step.op);
  }
  const bool compares = step.op == LS_PRESET_UNLESS || step.op == LS_PRESET_NEED;
  const bool emits = step.op == LS_PRESET_EMIT || step.op == LS_PRESET_EMIT_TEXT ||
                     step.op == LS_PRESET_EMIT_FIELD || step.op == LS_PRESET_EMIT_NAME;
  const bool from_slot = step.op != LS_PRESET_FIELD && step.op != LS_PRESET_EMIT_FIELD;
  const bool to_slot = !compares && !emits && step.op != LS_PRESET_BLOCK;
  if (from_slot && !is_slot(step.from)) return "uses slot " + std::to_string(step.from);
  if (to_slot && !is_slot(step.to)) return "uses slot " + std::to_string(step.to);
  if (step.op == LS_PRESET_SUM && !is_slot(step.value)) {
    return "uses slot " + std::to_string(step.value);
  }
  if (compares) return comparison_problem(step, left);
  if (emits) {
    if (std::string problem = label_problem(step); !problem.empty()) return problem;
    if (step.op == LS_PRESET_EMIT || step.op == LS_PRESET_EMIT_NAME) return "";
  }
  return memory_problem(step);
}

}  // namespace

ls_tls_recipe PresetPlans::add(PresetPlan plan) {
  plan.number = digest_of(plan);
  ls_tls_recipe recipe = plan.base;
  if (plan.only_main_thread) {
    recipe = {};
    recipe.kind = LS_FIRST_THREAD_AT_ADDRESS;
  }
  recipe.source = LS_SOURCE_PRESET;
  const ls_preset_recipe parameters{plan.number, 0, {}};
  std::memcpy(recipe.parameters, &parameters, sizeof parameters);
  if (find(plan.number) == nullptr) {
    plans_.insert(plans_.begin(), std::make_shared<const PresetPlan>(std::move(plan)));
  }
  return recipe;
}

void PresetPlans::keep(const PresetPlans& earlier) {
  for (const auto& plan : earlier.plans_) {
    if (plans_.size() >= kMost) return;
    if (find(plan->number) == nullptr) plans_.push_back(plan);
  }
}

const PresetPlan* PresetPlans::find(std::uint32_t number) const {
  const auto found =
      std::ranges::find_if(plans_, [&](const auto& plan) { return plan->number == number; });
  return found == plans_.end() ? nullptr : found->get();
}

const PresetPlan* PresetPlans::find(const ls_tls_recipe& recipe) const {
  const std::uint32_t number = preset_number(recipe);
  return number == 0 ? nullptr : find(number);
}

bool PresetPlans::read_thread_name() const {
  return std::ranges::any_of(plans_, [](const auto& plan) {
    return std::ranges::any_of(plan->program.step, [](const ls_preset_step& step) {
      return step.op == LS_PRESET_EMIT_NAME;
    });
  });
}

std::uint32_t preset_number(const ls_tls_recipe& recipe) {
  if (!LS_IS_SOURCE_OF(LS_PROGRAM_SOURCES, recipe.source)) return 0;
  ls_preset_recipe parameters{};
  static_assert(sizeof recipe.parameters == sizeof parameters);
  std::memcpy(&parameters, recipe.parameters, sizeof parameters);
  return parameters.preset;
}

std::optional<std::string> refuse_program(const ls_preset_program& program) {
  if (program.count == 0) return "it has no steps";
  if (program.count > LS_PRESET_STEPS) {
    return "it has " + std::to_string(program.count) + " steps, more than " +
           std::to_string(LS_PRESET_STEPS);
  }
  bool emits = false;
  for (std::size_t i = 0; i < program.count; ++i) {
    const ls_preset_step& step = program.step[i];
    std::string problem = step_problem(step, program.count - i - 1);
    if (!problem.empty()) return "step " + std::to_string(i) + ' ' + problem;
    emits |= step.op >= LS_PRESET_EMIT;
  }
  if (!emits) return "it gives no label";
  return std::nullopt;
}

}  // namespace labelscope
