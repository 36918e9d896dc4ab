#include "cli/format/pprof/pprof_types.h"

#include <algorithm>
#include <utility>

namespace labelscope::cli {
namespace {

std::string text_of(const PprofType& type) { return type.type + "/" + type.unit; }

std::size_t chosen_type(const std::vector<PprofType>& types, const std::string& default_type) {
  const auto find = [&](auto fits) {
    return static_cast<std::size_t>(std::find_if(types.begin(), types.end(), fits) - types.begin());
  };
  for (const std::string wanted : {"cpu", "wall"}) {
    const std::size_t found = find([&](const PprofType& each) {
      return each.type == wanted && nanoseconds_in(each.unit) != 0;
    });
    if (found < types.size()) return found;
  }
  const std::size_t said = find([&](const PprofType& each) { return each.type == default_type; });
  return said < types.size() ? said : types.size() - 1;
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

Result<ChosenValues> choose_values(const std::vector<PprofType>& types,
                                   const std::string& default_type, const PprofType& period_type,
                                   std::uint64_t period) {
  if (types.empty()) {
    return Error{
        ErrorCode::kMalformed,
        "it does not begin as a recording of labelscope does, and as a pprof file it has no "
        "sample type: recordings (.jsonl) and pprof files are read"};
  }
  ChosenValues chosen;
  chosen.weight = chosen_type(types, default_type);
  const PprofType& type = types[chosen.weight];
  // Writers put the number of what a value measures in front of it.
  const auto counts = [&](std::size_t i) { return types[i].unit == "count"; };
  if (chosen.weight > 0 && counts(chosen.weight - 1)) {
    chosen.samples = chosen.weight - 1;
  } else if (counts(chosen.weight)) {
    chosen.samples = chosen.weight;
  }
  std::uint64_t ns = nanoseconds_in(type.unit);
  PprofType shown = type;
  const std::uint64_t period_ns = nanoseconds_in(period_type.unit);
  // A CPU profile that only counts: each sample stands for a period.
  if (ns == 0 && type.type == "samples" && counts(chosen.weight) && period_ns != 0 && period != 0 &&
      period <= UINT64_MAX / period_ns) {
    ns = period * period_ns;
    shown = period_type;
  }
  if (ns != 0) {
    chosen.scale = ns;
    shown.unit = "nanoseconds";
  }
  const bool plain = ns != 0 && (shown.type == "cpu" || shown.type == "wall");
  chosen.mode = plain ? shown.type : text_of(shown);
  if (types.size() - (chosen.samples && *chosen.samples != chosen.weight ? 1 : 0) > 1 || !plain) {
    chosen.note = "its values are " + text_of(type);
    std::string others;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i != chosen.weight) others += (others.empty() ? "" : ", ") + text_of(types[i]);
    }
    if (!others.empty()) chosen.note += "; not looked at: " + others;
  }
  return chosen;
}

}  // namespace labelscope::cli
