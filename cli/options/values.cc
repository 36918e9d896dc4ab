#include "cli/options/values.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "cli/format/escape.h"
#include "cli/host/exit_status.h"

namespace labelscope::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    std::size_t comma = text.find(',', start);
    parts.push_back(text.substr(start, comma - start));
    if (comma == std::string::npos) return parts;
    start = comma + 1;
  }
}

// The whole of `text` as a number of type T, or nullopt.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void refuse(const std::string& message) { throw CLI::ValidationError(message, kExitUsage); }

std::chrono::nanoseconds parse_duration(const std::string& option, const std::string& text) {
  std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  auto value = number<double>(std::string_view(text).substr(0, digits));
  std::string unit = text.substr(digits);
  double seconds = unit.empty() || unit == "s"    ? 1
                   : unit == "ms"                 ? 0.001
                   : unit == "us"                 ? 0.000001
                   : unit == "m" || unit == "min" ? 60
                   : unit == "h"                  ? 3600
                                                  : 0;
  constexpr double kYear = 365.0 * 24 * 3600;
  if (!value || seconds == 0 || !std::isfinite(*value) || *value * seconds <= 0 ||
      *value * seconds > kYear) {
    refuse(option + " " + escape_terminal(text) +
           ": a time above 0 is wanted, like 10, 10s, 500ms, 2m or 1h");
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*value * seconds * 1e9));
}

std::vector<Pid> parse_pids(const std::vector<std::string>& texts) {
  std::vector<Pid> pids;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text)) {
      auto value = number<std::int32_t>(part);
      if (!value || *value <= 0) {
        refuse("--pid " + escape_terminal(text) +
               ": process IDs are wanted, like 4242 or 4242,4243");
      }
      if (std::find(pids.begin(), pids.end(), Pid{*value}) == pids.end())
        pids.push_back(Pid{*value});
    }
  }
  return pids;
}

const CallGraph* find_call_graph(Backend backend, std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kCallGraphs), std::end(kCallGraphs), [&](const CallGraph& each) {
        return (name.empty() || each.name == name) &&
               (each.backend == backend || each.backend == Backend::kAuto);
      });
  return found == std::end(kCallGraphs) ? nullptr : found;
}

Backend parse_backend(const std::string& text) {
  if (text == "auto") return Backend::kAuto;
  if (text == "bpf") return Backend::kBpf;
  if (text == "ptrace") return Backend::kPtrace;
  refuse("--backend " + escape_terminal(text) + ": unknown; auto, bpf and ptrace are known");
}

std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint32_t least,
                          std::uint32_t most) {
  auto value = number<std::uint32_t>(text);
  if (!value || *value < least || *value > most) {
    refuse(option + " " + escape_terminal(text) + ": a whole number from " + std::to_string(least) +
           " to " + std::to_string(most) + " is wanted");
  }
  return *value;
}

// Keys may hold anything but a comma, which separates them; empty ones are a slip of the hand.
std::vector<std::string> parse_keys(const std::string& option,
                                    const std::vector<std::string>& texts) {
  std::vector<std::string> keys;
  for (const std::string& text : texts) {
    for (std::string& key : split(text)) {
      if (key.empty()) {
        refuse(option + " " + escape_terminal(text) + ": a label key between commas is empty");
      }
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
    }
  }
  return keys;
}

}  // namespace labelscope::cli
