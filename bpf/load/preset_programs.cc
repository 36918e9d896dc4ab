#include "bpf/load/preset_programs.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bpf/wire/wire.h"

namespace labelscope {

namespace {

std::optional<ls_preset_program> program_in(int map, std::uint32_t number) {
  ls_preset_program there{};
  if (bpf_map_lookup_elem(map, &number, &there) != 0) return std::nullopt;
  return there;
}

bool has_program(int map, std::uint32_t number, const ls_preset_program& program) {
  const auto there = program_in(map, number);
  return there && std::memcmp(&*there, &program, sizeof program) == 0;
}

}  // namespace

void add_preset_numbers(std::span<const ls_tls_recipe> recipes, std::set<std::uint32_t>& numbers) {
  for (const ls_tls_recipe& recipe : recipes) {
    if (const std::uint32_t number = preset_number(recipe)) numbers.insert(number);
  }
}

// What is there stays: the kernel's programs may be reading it.
Status put_preset_programs(int map, std::span<const ls_tls_recipe> recipes,
                           const PresetPlans& presets) {
  std::set<std::uint32_t> numbers;
  add_preset_numbers(recipes, numbers);
  for (const std::uint32_t number : numbers) {
    const PresetPlan* plan = presets.find(number);
    if (plan == nullptr) {
      if (program_in(map, number)) continue;
      return Error{ErrorCode::kNotFound,
                   "the plan of preset " + std::to_string(number) + " is not known"};
    }
    if (bpf_map_update_elem(map, &number, &plan->program, BPF_NOEXIST) == 0) continue;
    if (errno == EEXIST) {
      if (has_program(map, number, plan->program)) continue;
      return Error{ErrorCode::kUnsupported,
                   "the preset " + plan->name + " has the number of another one"};
    }
    if (errno == E2BIG) {
      return Error{ErrorCode::kLimit,
                   "there is no room for the preset of one more program (a larger "
                   "--max-processes makes room)"};
    }
    return system_error(errno, "cannot write to the map of presets");
  }
  return {};
}

void copy_preset_programs(int from, int to, std::span<const ls_tls_recipe> recipes) {
  std::set<std::uint32_t> numbers;
  add_preset_numbers(recipes, numbers);
  keep_preset_programs(to, numbers);
  for (const std::uint32_t number : numbers) {
    if (const auto program = program_in(from, number))
      static_cast<void>(bpf_map_update_elem(to, &number, &*program, BPF_ANY));
  }
}

void keep_preset_programs(int map, const std::set<std::uint32_t>& used) {
  std::vector<std::uint32_t> unused;
  std::uint32_t next = 0;
  for (int error = bpf_map_get_next_key(map, nullptr, &next); error == 0;
       error = bpf_map_get_next_key(map, &next, &next)) {
    if (!used.contains(next)) unused.push_back(next);
  }
  for (const std::uint32_t number : unused) bpf_map_delete_elem(map, &number);
}

}  // namespace labelscope
