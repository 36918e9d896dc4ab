#include "cli/record/window_ledger.h"

#include <algorithm>

namespace labelscope::cli {
namespace {

// These count what is there now, and not what has happened.
constexpr Counter kStates[] = {Counter::kProcessorsNotSampled, Counter::kThreadsWithoutCpuTime,
                               Counter::kUnwindTables, Counter::kUnwindTableBytes};

}  // namespace

// A sample that is neither handed out nor known to be dropped is on its way, or was dropped since
// the last cut: how many were is counted, and what they were is not. This takes them from the
// outcomes in their order.
Counters WindowLedger::without_those_on_their_way(Counters counters) {
  std::array<std::uint64_t, LS_OUTCOME_COUNT> missing{};
  std::uint64_t known_dropped = 0;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    const std::uint64_t accounted = handed_out_[i] + dropped_[i];
    missing[i] = counters.outcomes[i] - std::min(counters.outcomes[i], accounted);
    known_dropped += dropped_[i];
  }
  std::uint64_t fresh = counters.dropped - std::min(counters.dropped, known_dropped);
  counters.taken = 0;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    const std::uint64_t lost = std::min(missing[i], fresh);
    fresh -= lost;
    dropped_[i] += lost;
    known_dropped += lost;
    counters.outcomes[i] = handed_out_[i] + dropped_[i];
    counters.taken += counters.outcomes[i];
  }
  counters.dropped = known_dropped;
  counters.pending = 0;
  return counters;
}

Ledger WindowLedger::cut(const Ledger& sums) {
  const auto since = [](std::uint64_t now, std::uint64_t before) {
    return now - std::min(now, before);
  };
  Ledger window = sums;
  window.taken = since(sums.taken, before_.taken);
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    window.outcomes[i] = since(sums.outcomes[i], before_.outcomes[i]);
  }
  window.dropped = since(sums.dropped, before_.dropped);
  window.written = since(sums.written, before_.written);
  window.truncated = since(sums.truncated, before_.truncated);
  window.counters -= before_.counters;
  for (const Counter state : kStates) window.counters[state] = sums.counters[state];
  before_ = sums;
  has_cut_ = true;
  return window;
}

}  // namespace labelscope::cli
