#include "cli/names/budget.h"

#include <ctime>

#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// Asking the kernel for the time costs as much as reading ten entries.
constexpr unsigned kBetweenAsking = 256;

// This is processor time: a busy machine must not cost names.
std::chrono::nanoseconds used() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

constexpr std::array<const char*, kCosts> kCostNames{
    "bytes of compressed debug information", "rows of line tables", "entries of debug information",
    "ranges of addresses", "symbols"};

}  // namespace

Budget::Budget(const Limits& limits)
    : limits_(limits), left_(limits.most), time_end_(used() + limits.processor_time) {}

bool Budget::is_late() {
  if (!late_ && until_asking_-- == 0) {
    until_asking_ = kBetweenAsking;
    late_ = used() >= time_end_;
  }
  return late_;
}

bool Budget::spend(Cost cost, std::uint64_t count) {
  const auto i = static_cast<std::size_t>(cost);
  if (is_late()) return false;
  if (count > left_[i] || (cost == Cost::kRows && count > limits_.rows_at_once)) {
    refused_[i] = true;
    return false;
  }
  left_[i] -= count;
  return true;
}

Budget::Counts Budget::spent_since(const Counts& before) const {
  Counts spent{};
  for (std::size_t i = 0; i < kCosts; ++i) spent[i] = before[i] - left_[i];
  return spent;
}

void Budget::give_back(const Counts& spent) {
  for (std::size_t i = 0; i < kCosts; ++i) left_[i] += spent[i];
}

std::string Budget::left_out() const {
  if (late_) {
    return "a part of its debug information was left out: it takes more than " +
           seconds_text(limits_.processor_time) + " to read";
  }
  for (std::size_t i = 0; i < kCosts; ++i) {
    if (!refused_[i]) continue;
    const bool one_unit =
        i == static_cast<std::size_t>(Cost::kRows) && left_[i] > limits_.rows_at_once;
    return std::string("a part of it was left out: it has more than ") +
           with_thousands(one_unit ? limits_.rows_at_once : limits_.most[i]) + " " + kCostNames[i];
  }
  return {};
}

}  // namespace labelscope::cli
