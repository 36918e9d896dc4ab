// variant NAME when SYMBOL... set NAME=NUMBER...
#include <cstdint>
#include <string>
#include <utility>

#include "sources/preset/preset_parts.h"

namespace labelscope {
namespace {

// Parses "SYMBOL", "!SYMBOL", "SYMBOL.size==N" or "SYMBOL.size == N".
Result<PresetVariant::Test> parse_test(PresetWords& words) {
  PresetVariant::Test test;
  std::string_view word = words.take().text;
  if (word.starts_with('!')) {
    test.absent = true;
    word.remove_prefix(1);
  }
  std::string_view size;
  constexpr std::string_view kSize = ".size";
  if (const std::size_t equals = word.find("=="); equals != std::string_view::npos) {
    size = word.substr(equals + 2);
    word = word.substr(0, equals);
  } else if (words.take("==")) {
    size = words.take().text;
  }
  if (!size.empty() || word.ends_with(kSize)) {
    const auto number = whole_number(size);
    if (!word.ends_with(kSize) || test.absent || !number || !number->parameter.empty() ||
        number->value < 0) {
      return malformed("a size is compared like this: SYMBOL.size==N");
    }
    word.remove_suffix(kSize.size());
    test.size = static_cast<std::uint64_t>(number->value);
  }
  if (!is_preset_name(word, kPresetSymbolCharacters))
    return malformed(in_quotes(word) + " is no name of a symbol");
  test.symbol = word;
  return test;
}

Status parse_parameter(std::string_view word, PresetVariant& variant) {
  const std::size_t equals = find_assignment(word);
  if (equals == std::string_view::npos) return malformed(in_quotes(word) + " is not NAME=NUMBER");
  const std::string_view name = word.substr(0, equals);
  const auto number = whole_number(word.substr(equals + 1));
  if (!is_preset_name(name, "_") || !number || !number->parameter.empty()) {
    return malformed(in_quotes(word) + " is not NAME=NUMBER");
  }
  if (number->value < -kMostPresetOffset || number->value > UINT32_MAX) {
    return malformed(in_quotes(word) + " is out of range");
  }
  if (variant.parameters.size() == kMostPresetStatements) return malformed("too many parameters");
  if (!variant.parameters.emplace(name, number->value).second) {
    return malformed("$" + std::string(name) + " is set twice");
  }
  return {};
}

}  // namespace

std::size_t find_assignment(std::string_view word) {
  const std::size_t at = word.find('=');
  return at == 0 || at == word.size() - 1 ? std::string_view::npos : at;
}

Result<PresetVariant> parse_preset_variant(PresetWords& words) {
  PresetVariant variant;
  const std::string_view name = words.take().text;
  if (!is_preset_name(name, "-.+_")) return malformed("variant NAME when SYMBOL... is wanted");
  variant.name = name;
  if (!words.take("when"))
    return malformed("behind the name of a variant stands: when SYMBOL...");
  while (!words.empty() && words.peek() != "set") {
    if (variant.tests.size() == kMostPresetStatements) return malformed("too many symbols");
    auto test = parse_test(words);
    if (!test) return std::move(test).error();
    variant.tests.push_back(*std::move(test));
  }
  if (variant.tests.empty()) return malformed("when wants a symbol");
  if (words.take("set")) {
    while (!words.empty()) {
      if (Status set = parse_parameter(words.take().text, variant); !set) {
        return std::move(set).error();
      }
    }
  }
  return variant;
}

}  // namespace labelscope
