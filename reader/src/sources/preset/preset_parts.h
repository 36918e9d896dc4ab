// The statements of a preset that are more than a few words, for the file that parses all of them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "labelscope/result.h"
#include "sources/preset/preset_file.h"
#include "sources/preset/preset_text.h"

namespace labelscope {

inline constexpr std::string_view kPresetSymbolCharacters = "_.$@";  // beside letters and digits
// So many statements of one kind may be there, or words of one statement; there are as many slots.
inline constexpr std::size_t kMostPresetStatements = 16;

// Each parses what stands behind the first word of its statement. `lets` are the names that stand
// above it.
Result<PresetVariant> parse_preset_variant(PresetWords& words);
Result<PresetLet> parse_preset_let(PresetWords& words, std::span<const PresetLet> lets);
Result<DescribedLabel> parse_preset_label(PresetWords& words, std::span<const PresetLet> lets);

Result<PresetExpression> parse_preset_value(PresetWords& words, std::span<const PresetLet> lets);
Result<PresetCondition> parse_preset_condition(PresetWords& words, std::span<const PresetLet> lets);
// Whether values of this kind can be compared with numbers.
bool is_compared(ls_variable_kind kind);

// Returns where the = of "NAME=VALUE" is, or npos if the word is something else.
std::size_t find_assignment(std::string_view word);

}  // namespace labelscope
