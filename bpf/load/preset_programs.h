// The programs of presets that recipes name are put into a BPF map, by their numbers.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "labelscope/preset_plan.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"

namespace labelscope {

// Adds the programs that these recipes name, if they are not there yet. Fails with kLimit if the
// map is full, with kNotFound if one is neither there nor among `presets`, and with kUnsupported if
// its number is another program's (a number is a digest).
Status put_preset_programs(int map, std::span<const ls_tls_recipe> recipes,
                           const PresetPlans& presets);

// Puts the programs that these recipes name from one map into another one, and removes all others
// there. What is missing in the first one is missing in the second one.
void copy_preset_programs(int from, int to, std::span<const ls_tls_recipe> recipes);

// Removes all programs but these.
void keep_preset_programs(int map, const std::set<std::uint32_t>& used);

// Adds the numbers of the presets among these recipes.
void add_preset_numbers(std::span<const ls_tls_recipe> recipes, std::set<std::uint32_t>& numbers);

}  // namespace labelscope
