// let NAME = EXPRESSION if CONDITION, and what a condition is: EXPRESSION == EXPRESSION.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "sources/preset/preset_parts.h"

namespace labelscope {

bool is_compared(ls_variable_kind kind) {
  return kind == LS_VARIABLE_UNSIGNED || kind == LS_VARIABLE_SIGNED || kind == LS_VARIABLE_BOOL;
}

Result<PresetExpression> parse_preset_value(PresetWords& words, std::span<const PresetLet> lets) {
  auto parsed = parse_preset_expression(words.take().text);
  if (!parsed) return parsed;
  if (parsed->base == PresetExpression::Base::kSymbol &&
      std::ranges::find(lets, parsed->name, &PresetLet::name) != lets.end()) {
    parsed->base = PresetExpression::Base::kLet;
  }
  return parsed;
}

Result<PresetCondition> parse_preset_condition(PresetWords& words,
                                               std::span<const PresetLet> lets) {
  using Comparison = PresetCondition::Comparison;
  static constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
      {"==", Comparison::kEqual},
      {"!=", Comparison::kNotEqual},
      {">", Comparison::kGreater},
      {"<", Comparison::kLess},
      {"even", Comparison::kEven}};
  PresetCondition made;
  auto left = parse_preset_value(words, lets);
  if (!left) return std::move(left).error();
  const std::string_view sign = words.take().text;
  const auto comparison =
      std::ranges::find(kComparisons, sign, [](const auto& one) { return one.first; });
  if (comparison == std::end(kComparisons)) {
    return malformed("behind " + in_quotes(left->text) + " stands ==, !=, >, < or even");
  }
  made.left = *std::move(left);
  made.comparison = comparison->second;
  made.text = made.left.text + " " + std::string(sign);
  if (made.comparison == Comparison::kEven) return made;
  auto right = parse_preset_value(words, lets);
  if (!right) return std::move(right).error();
  made.right = *std::move(right);
  made.text += " " + made.right.text;
  for (const PresetExpression& side : {made.left, made.right}) {
    if (side.type && !is_compared(side.type->kind)) {
      return malformed(in_quotes(side.text) + " is no number, which alone is compared");
    }
  }
  return made;
}

Result<PresetLet> parse_preset_let(PresetWords& words, std::span<const PresetLet> lets) {
  const std::string_view name = words.take().text;
  if (!is_preset_name(name, "_")) return malformed("let NAME = EXPRESSION is wanted");
  if (!words.take("=")) return malformed("behind the name stands =");
  auto value = parse_preset_value(words, lets);
  if (!value) return std::move(value).error();
  if (value->type) return malformed("let names a place: leave the type to its users");
  PresetLet let{std::string(name), *std::move(value)};
  if (words.take("if")) {
    auto condition = parse_preset_condition(words, lets);
    if (!condition) return std::move(condition).error();
    const auto uses = [&](const PresetExpression& one) {
      return one.base == PresetExpression::Base::kLet && one.name == let.name;
    };
    if (uses(let.value) || uses(condition->left) || uses(condition->right)) {
      return malformed(in_quotes(name) + " is made of itself");
    }
    if (let.value.steps.empty() || let.value.steps.back().kind != PresetStep::Kind::kFollow) {
      return malformed("with an if, what let names ends in ->");
    }
    let.condition = *std::move(condition);
  }
  return let;
}

}  // namespace labelscope
