#include "sources/preset/preset_values.h"

#include <utility>

namespace labelscope {
namespace {

using Comparison = PresetCondition::Comparison;

unsigned comparison_of(Comparison comparison, bool is_signed) {
  switch (comparison) {
    case Comparison::kEqual:
      return LS_PRESET_EQUAL;
    case Comparison::kNotEqual:
      return LS_PRESET_NOT_EQUAL;
    case Comparison::kGreater:
      return is_signed ? LS_PRESET_SIGNED_GREATER : LS_PRESET_GREATER;
    case Comparison::kLess:
      return is_signed ? LS_PRESET_SIGNED_LESS : LS_PRESET_LESS;
    case Comparison::kEven:
      break;
  }
  return LS_PRESET_NO_BIT;
}

bool is_true(Comparison comparison, std::uint64_t left, std::uint64_t right) {
  const auto a = static_cast<std::int64_t>(left);
  const auto b = static_cast<std::int64_t>(right);
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kEven:
      break;
  }
  return (left & 1U) == 0;
}

}  // namespace

Result<PresetValue> PresetValues::evaluate_number(const PresetExpression& expression, unsigned slot,
                                                  const Guards& guards) {
  const auto known = [](std::uint64_t value) {
    return PresetValue{.is_known = true, .number = value};
  };
  switch (expression.base) {
    case Base::kNumber: {
      const auto value = number(expression.number);
      if (!value) return value.error();
      return known(static_cast<std::uint64_t>(*value));
    }
    case Base::kSymbolSize: {
      const auto found = symbol(expression.name);
      if (!found) return found.error();
      return known(found->size);
    }
    case Base::kSymbolAddress: {
      const auto found = symbol(expression.name);
      if (!found) return found.error();
      return known(place_.load_bias + found->value);
    }
    case Base::kTid:
      checks_thread_ = true;
      add_step(LS_PRESET_NUMBER, slot, 0, 0, 0, 0);
      return PresetValue{.slot = slot};
    default:
      break;
  }
  if (!expression.type) return unfit(expression.text + " lacks a type");
  auto at = evaluate(expression, guards);
  if (!at) return std::move(at).error();
  return read_number(*at, *expression.type, slot, guards);
}

Result<PresetValue> PresetValues::read_number(const Place& from, const VariableType& type,
                                              unsigned slot, const Guards& guards) {
  if (Status fits = check_result(from, type.size); !fits) return std::move(fits).error();
  const bool is_signed = type.kind == LS_VARIABLE_SIGNED;
  // The pointer of some label: it has a slot that stays.
  if (type.size == 8 && !is_signed && from.offset == 0 && guards.kind == Guards::Kind::kNeed) {
    auto pointer = read_pointer(from, guards);
    if (!pointer) return std::move(pointer).error();
    return PresetValue{.slot = *pointer};
  }
  read(from, type.size, is_signed, slot, guards);
  return PresetValue{.slot = slot, .is_signed = is_signed};
}

Status PresetValues::check_result(const Place& from, unsigned size) {
  if (from.is_result) return unfit("an accessor returns an address: -> leads there");
  if (from.size != 0 && from.size != size) {
    return unfit("an accessor reads " + std::to_string(from.size) + " bytes, and the type has " +
                 std::to_string(size));
  }
  return {};
}

Result<PresetValues::Compared> PresetValues::compare(const PresetCondition& condition, unsigned op,
                                                   const Guards& guards) {
  auto left = evaluate_number(condition.left, kLeft, guards);
  if (!left) return std::move(left).error();
  Result<PresetValue> right = PresetValue{.is_known = true, .number = 1};  // even: bit 0 is not set
  if (condition.comparison != Comparison::kEven) {
    right = evaluate_number(condition.right, kRight, guards);
  }
  if (!right) return std::move(right).error();
  Comparison comparison = condition.comparison;
  if (left->is_known && right->is_known) {
    return Compared{is_true(comparison, left->number, right->number)};
  }
  if (left->is_known) {
    std::swap(*left, *right);
    if (comparison == Comparison::kGreater) {
      comparison = Comparison::kLess;
    } else if (comparison == Comparison::kLess) {
      comparison = Comparison::kGreater;
    }
  }
  const unsigned how = comparison_of(comparison, left->is_signed);
  return Compared{std::nullopt,
                  right->is_known
                      ? add_step(op, 0, left->slot, how, 0, right->number)
                      : add_step(op, right->slot, left->slot, how | LS_PRESET_WITH_SLOT, 0, 0)};
}

Result<std::optional<bool>> PresetValues::known_without_reading(
    const PresetCondition& condition) {
  const auto reads = [](const PresetExpression& side) {
    return side.base != Base::kNumber && side.base != Base::kSymbolSize &&
           side.base != Base::kSymbolAddress;
  };
  if (reads(condition.left) ||
      (condition.comparison != Comparison::kEven && reads(condition.right))) {
    return std::optional<bool>();
  }
  const auto compared = compare(condition, LS_PRESET_UNLESS, {});
  if (!compared) return compared.error();
  return compared->known;
}

}  // namespace labelscope
