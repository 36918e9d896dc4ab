// The numbers under a dump: what became of the threads, and how long they were stopped.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "labelscope/snapshot.h"

namespace labelscope::cli {

struct DumpTotals {
  std::size_t threads = 0;  // the sum of the outcomes
  std::array<std::size_t, LS_OUTCOME_COUNT> outcomes{};
  std::size_t stopped = 0;  // threads that were stopped and read
  std::chrono::nanoseconds longest_stop{0};
  std::chrono::nanoseconds median_stop{0};  // of those while a thread was read
};

DumpTotals add_up(const ProcessSnapshot& snapshot);
// In one line, for people.
std::string totals_line(const ProcessSnapshot& snapshot);

}  // namespace labelscope::cli
