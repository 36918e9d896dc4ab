#include "cli/profile/profile.h"

#include <utility>

namespace labelscope::cli {
namespace {

constexpr std::pair<const char*, std::uint64_t StopSummary::*> kStopNames[] = {
    {"stop-longest-us", &StopSummary::longest_us},
    {"stop-median-us", &StopSummary::median_us},
    {"stop-p99-us", &StopSummary::p99_us}};

}  // namespace

std::map<std::string, std::uint64_t> Ledger::named() const {
  std::map<std::string, std::uint64_t> all = counters.by_name();
  for (const auto& [name, member] : kStopNames) {
    if (stops.*member != 0) all[name] = stops.*member;
  }
  return all;
}

void Ledger::set_named(const std::string& name, std::uint64_t count) {
  for (const auto& [stop_name, member] : kStopNames) {
    if (name != stop_name) continue;
    stops.*member = count;
    return;
  }
  counters.set(name, count);
}

ValueType Profile::whole_value() const {
  return has_kinds() ? ValueType{"time", values.front().unit} : values.front();
}

}  // namespace labelscope::cli
