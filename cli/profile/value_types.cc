#include "cli/profile/value_types.h"

#include <algorithm>
#include <iterator>

namespace labelscope::cli {
namespace {

constexpr std::string_view kNanoseconds = "nanoseconds";

constexpr bool has_each_at_its_place() {
  for (std::size_t i = 0; i < std::size(kTimeKinds); ++i) {
    if (kTimeKinds[i].kind != static_cast<ls_sample_kind>(i)) return false;
  }
  return std::size(kTimeKinds) == LS_SAMPLE_KIND_COUNT;
}
static_assert(has_each_at_its_place());

}  // namespace

ValueType time_value(ls_sample_kind kind) {
  return {std::string(kTimeKinds[kind].name), std::string(kNanoseconds)};
}

const TimeKind* time_kind(const ValueType& value) {
  if (value.unit != kNanoseconds) return nullptr;
  const auto* found = std::find_if(std::begin(kTimeKinds), std::end(kTimeKinds),
                                   [&](const TimeKind& each) { return each.name == value.name; });
  return found == std::end(kTimeKinds) ? nullptr : found;
}

bool is_wait(const ValueType& value) {
  const TimeKind* kind = time_kind(value);
  return kind != nullptr && is_wait(kind->kind);
}

std::string text_of(const ValueType& value) {
  return time_kind(value) != nullptr ? value.name : value.name + "/" + value.unit;
}

std::optional<ValueType> parse_value_type(std::string_view text) {
  const std::size_t slash = text.find('/');
  ValueType value{std::string(text.substr(0, slash)), std::string(kNanoseconds)};
  if (slash != std::string_view::npos) {
    value.unit = text.substr(slash + 1);
  } else if (time_kind(value) == nullptr) {
    return std::nullopt;
  }
  return value;
}

}  // namespace labelscope::cli
