#include "cli/format/pprof/pprof_types.h"

#include <algorithm>
#include <utility>

#include "cli/format/recording_reader.h"

namespace labelscope::cli {
namespace {

std::string full_text(const ValueType& type) { return type.name + "/" + type.unit; }

using NumberedTypes = std::vector<std::pair<std::size_t, ValueType>>;

// Returns the kinds of time besides the chosen one. If that is the whole time of threads, it
// includes all others, and there are none.
NumberedTypes other_kinds(const std::vector<ValueType>& types, std::size_t chosen) {
  NumberedTypes more;
  std::vector<std::string_view> names{kKindsOfSamples[LS_WHOLE_TIME].name, types[chosen].name};
  if (types[chosen].name == names.front()) return more;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool known = std::ranges::find(names, types[i].name) != names.end();
    if (known || time_kind(types[i]) == nullptr) continue;
    names.push_back(types[i].name);
    more.emplace_back(i, types[i]);
  }
  return more;
}

bool is_in(const NumberedTypes& types, std::size_t number) {
  return std::ranges::any_of(types, [&](const auto& type) { return type.first == number; });
}

std::string texts_of(const std::vector<ValueType>& types, std::size_t except,
                     const NumberedTypes& also) {
  std::string texts;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i != except && !is_in(also, i)) {
      texts += (texts.empty() ? "" : ", ") + full_text(types[i]);
    }
  }
  return texts;
}

// Returns the index of a type; as many as there are types: none fits.
std::size_t chosen_type(const std::vector<ValueType>& types, const std::string& named,
                        const std::string& default_type) {
  const auto find = [&](auto fits) {
    return static_cast<std::size_t>(std::find_if(types.begin(), types.end(), fits) - types.begin());
  };
  if (!named.empty()) {
    return find(
        [&](const ValueType& each) { return each.name == named || full_text(each) == named; });
  }
  for (const KindOfSamples& wanted : kKindsOfSamples) {
    const std::size_t found = find([&](const ValueType& each) {
      return each.name == wanted.name && nanoseconds_in(each.unit) != 0;
    });
    if (found < types.size()) return found;
  }
  const std::size_t said = find([&](const ValueType& each) { return each.name == default_type; });
  return said < types.size() ? said : types.size() - 1;
}

// What a value of this name with the unit "count" counts. Objects, contentions and goroutines are
// not samples: each sample of them stands for as many as the tool estimates.
std::string counted_by(const std::string& type) {
  const bool samples = type == "samples" || type == "sample" || type.ends_with("_samples") ||
                       type.ends_with("_sample");
  return samples ? std::string(kSamples) : type;
}

}  // namespace

std::uint64_t nanoseconds_in(const std::string& unit) {
  constexpr std::pair<const char*, std::uint64_t> kUnits[] = {
      {"nanoseconds", 1},          {"ns", 1},
      {"microseconds", 1'000},     {"us", 1'000},
      {"milliseconds", 1'000'000}, {"ms", 1'000'000},
      {"seconds", 1'000'000'000},  {"s", 1'000'000'000}};
  for (const auto& [name, ns] : kUnits) {
    if (unit == name) return ns;
  }
  return 0;
}

Result<ChosenValues> choose_values(const std::vector<ValueType>& types, const std::string& wanted,
                                   const std::string& default_type, const ValueType& period_type,
                                   std::uint64_t period) {
  if (types.empty()) return Error{ErrorCode::kMalformed, std::string(kNeitherKind)};
  ChosenValues chosen;
  chosen.weight = chosen_type(types, wanted, default_type);
  if (chosen.weight == types.size()) {
    return Error{ErrorCode::kUnsupported,
                 "it has no value " + wanted + "; there are: " + texts_of(types, types.size(), {})};
  }
  const ValueType& type = types[chosen.weight];
  // Writers put a value's count, such as "samples", in front of the value itself, and of several
  // kinds of time. Then a sample of which there is none of the chosen kind is one of another kind.
  const auto counts = [&](std::size_t i) { return types[i].unit == "count"; };
  const auto is_time = [&](std::size_t i) {
    return i < types.size() && time_kind(types[i]) != nullptr;
  };
  std::size_t first = chosen.weight;
  while (is_time(chosen.weight) && first > 0 && is_time(first - 1)) --first;
  chosen.shares_count = !wanted.empty() && is_time(chosen.weight) &&
                        (first != chosen.weight || is_time(chosen.weight + 1));
  if (first > 0 && counts(first - 1)) {
    chosen.samples = first - 1;
  } else if (counts(chosen.weight)) {
    chosen.samples = chosen.weight;
  }
  chosen.counted = chosen.samples ? counted_by(types[*chosen.samples].name) : "entries";
  std::uint64_t ns = nanoseconds_in(type.unit);
  ValueType shown = type;
  const std::uint64_t period_ns = nanoseconds_in(period_type.unit);
  // A CPU profile may only count samples: each stands for a period.
  if (ns == 0 && type.name == "samples" && counts(chosen.weight) && period_ns != 0 && period != 0 &&
      period <= UINT64_MAX / period_ns) {
    ns = period * period_ns;
    shown = period_type;
  }
  if (ns != 0) {
    chosen.scale = ns;
    shown.unit = "nanoseconds";
  }
  const bool plain = time_kind(shown) != nullptr;
  chosen.value = shown;
  if (plain && shown == type && wanted.empty()) chosen.more = other_kinds(types, chosen.weight);
  const std::size_t looked_at =
      1 + chosen.more.size() + (chosen.samples && *chosen.samples != chosen.weight ? 1 : 0);
  if (wanted.empty() && (types.size() > looked_at || !plain)) {
    chosen.note = "its values are " + full_text(type);
    const std::string others = texts_of(types, chosen.weight, chosen.more);
    if (!others.empty()) chosen.note += "; not looked at: " + others + " (--value chooses)";
  }
  return chosen;
}

}  // namespace labelscope::cli
