#include "cli/profile/value_types.h"

#include <algorithm>
#include <iterator>

namespace labelscope::cli {
namespace {

constexpr bool has_each_at_its_place() {
  for (std::size_t i = 0; i < std::size(kKindsOfSamples); ++i) {
    if (kKindsOfSamples[i].kind != static_cast<ls_sample_kind>(i)) return false;
  }
  return std::size(kKindsOfSamples) == LS_SAMPLE_KIND_COUNT;
}
static_assert(has_each_at_its_place());

}  // namespace

ValueType value_of_kind(ls_sample_kind kind) {
  return {std::string(kKindsOfSamples[kind].name), std::string(kKindsOfSamples[kind].unit)};
}

const KindOfSamples* kind_of_value(const ValueType& value) {
  const auto* found = std::ranges::find_if(kKindsOfSamples, [&](const KindOfSamples& each) {
    return each.name == value.name && each.unit == value.unit;
  });
  return found == std::end(kKindsOfSamples) ? nullptr : found;
}

const KindOfSamples* time_kind(const ValueType& value) {
  return value.is_time() ? kind_of_value(value) : nullptr;
}

bool is_wait(const ValueType& value) {
  const KindOfSamples* kind = kind_of_value(value);
  return kind != nullptr && is_wait(kind->kind);
}

bool is_by_account(const ValueType& value) {
  const KindOfSamples* kind = kind_of_value(value);
  return kind != nullptr && kind->weighing == Weighing::kByAccount;
}

bool brings_own_time(const ValueType& value) {
  const KindOfSamples* kind = kind_of_value(value);
  return kind != nullptr && kind->weighing == Weighing::kOwn && value.is_time();
}

std::string text_of(const ValueType& value) {
  return kind_of_value(value) != nullptr ? value.name : value.name + "/" + value.unit;
}

std::optional<ValueType> parse_value_type(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    return ValueType{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
  }
  const auto* kind = std::ranges::find(kKindsOfSamples, text, &KindOfSamples::name);
  if (kind == std::end(kKindsOfSamples)) return std::nullopt;
  return value_of_kind(kind->kind);
}

}  // namespace labelscope::cli
