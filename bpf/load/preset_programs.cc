#include "bpf/load/preset_programs.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <string>
#include <vector>

#include "bpf/wire/wire.h"
#include "labelscope/preset_plan.h"

namespace labelscope {

void add_preset_numbers(std::span<const ls_tls_recipe> recipes, std::set<std::uint32_t>& numbers) {
  for (const ls_tls_recipe& recipe : recipes) {
    if (recipe.source == LS_SOURCE_PRESET) numbers.insert(preset_number(recipe));
  }
}

// What is there has the same content, and the kernel's programs may be reading it.
Status put_preset_programs(int map, std::span<const ls_tls_recipe> recipes) {
  std::set<std::uint32_t> numbers;
  add_preset_numbers(recipes, numbers);
  for (const std::uint32_t number : numbers) {
    const auto plan = find_preset(number);
    if (!plan) {
      return Error{ErrorCode::kNotFound,
                   "the program of preset " + std::to_string(number) + " is no longer kept"};
    }
    if (bpf_map_update_elem(map, &number, &plan->program, BPF_NOEXIST) == 0 || errno == EEXIST) {
      continue;
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
