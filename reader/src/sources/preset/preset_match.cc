#include "sources/preset/preset_match.h"

#include <algorithm>

namespace labelscope {
namespace {

// A message has at most so many sizes: more would not be read.
constexpr std::size_t kMostNamed = 6;

std::string alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " or ") + name;
  return text;
}

bool holds(const PresetVariant::Test& test, const PresetSymbols& symbols) {
  const auto symbol = symbols.find(test.symbol);
  if (test.absent) return !symbol;
  return symbol && (!test.size || symbol->size == *test.size);
}

// Returns "server has 5900 bytes (known are 3584, 3616 and 16 others)".
std::string sizes_text(const std::string& name, std::uint64_t found,
                       const std::vector<std::uint64_t>& known) {
  std::string text = name + " has " + std::to_string(found) + " bytes, and known are ";
  const std::size_t named = std::min(known.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + std::to_string(known[i]);
  if (known.size() > named) text += " and " + std::to_string(known.size() - named) + " others";
  return text;
}

}  // namespace

std::optional<ElfSymbol> PresetSymbols::find(const std::string& name) const {
  auto symbol = image_.find_dynamic_symbol(name);
  if (symbol && *symbol && (*symbol)->defined) return **symbol;
  if (!image_.executable()) return std::nullopt;
  symbol = image_.find_symtab_symbol(name);
  if (symbol && *symbol && (*symbol)->defined) return **symbol;
  return std::nullopt;
}

std::optional<std::string> why_no_match(const PresetDescription& preset, const ElfImage& image) {
  if (preset.match.empty() && !image.executable()) return "it is no program";
  const PresetSymbols symbols(image);
  for (const std::vector<std::string>& group : preset.match) {
    if (std::ranges::none_of(
            group, [&](const std::string& name) { return symbols.find(name).has_value(); })) {
      return "it has no symbol " + alternatives(group);
    }
  }
  for (const std::string& name : preset.match_none) {
    if (symbols.find(name)) return "it has the symbol " + name + " of another program";
  }
  return std::nullopt;
}

Result<ChosenVariant> choose_variant(const PresetDescription& preset, const ElfImage& image) {
  if (preset.variants.empty()) return ChosenVariant{};
  const PresetSymbols symbols(image);
  // What a message says: sizes by symbol, and symbols that are not there.
  std::map<std::string, std::vector<std::uint64_t>> sizes;
  for (const PresetVariant& variant : preset.variants) {
    if (std::ranges::all_of(variant.tests,
                            [&](const auto& test) { return holds(test, symbols); })) {
      return ChosenVariant{variant.name, variant.parameters};
    }
    for (const PresetVariant::Test& test : variant.tests) {
      if (test.size) sizes[test.symbol].push_back(*test.size);
    }
  }
  std::string why = "it is no version that the preset " + preset.name + " knows";
  if (sizes.empty()) {
    std::string names;
    for (const PresetVariant& variant : preset.variants) {
      names += (names.empty() ? "" : ", ") + variant.name;
    }
    why += " (" + names + "), by the symbols that it has";
  }
  for (const auto& [name, known] : sizes) {
    const auto symbol = symbols.find(name);
    why += symbol ? ": " + sizes_text(name, symbol->size, known) : ": it has no " + name;
  }
  return Error{ErrorCode::kUnsupported, why};
}

}  // namespace labelscope
