#include "cli/dump/totals.h"

#include <algorithm>
#include <vector>

#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

std::string count_text(std::size_t count, const char* one, const char* many) {
  return with_thousands(count) + " " + (count == 1 ? one : many);
}

std::string microseconds(std::chrono::nanoseconds time) {
  return with_thousands(static_cast<std::uint64_t>(
             std::chrono::ceil<std::chrono::microseconds>(time).count())) +
         " us";
}

std::string unreadable_text(const DumpTotals& totals) {
  std::size_t unreadable = 0;
  std::string reasons;
  for (unsigned outcome = 0; outcome < totals.outcomes.size(); ++outcome) {
    const std::size_t count = totals.outcomes[outcome];
    if (!is_unreadable(outcome) || count == 0) continue;
    unreadable += count;
    reasons += (reasons.empty() ? "" : ", ") + std::string(outcome_name(outcome)) + ": " +
               with_thousands(count);
  }
  return with_thousands(unreadable) + " unreadable" + (reasons.empty() ? "" : " (" + reasons + ")");
}

std::string stops_text(const ProcessSnapshot& snapshot, const DumpTotals& totals) {
  if (snapshot.source == SnapshotSource::kCore) return {};
  if (snapshot.source == SnapshotSource::kBpf) return "; none was stopped";
  if (totals.longest_stop.count() == 0) return {};
  if (totals.stopped == 0) return "; stopped for " + microseconds(totals.longest_stop) + " at most";
  return "; stopped for " + microseconds(totals.median_stop) + " (median), " +
         microseconds(totals.longest_stop) + " at most";
}

}  // namespace

DumpTotals add_up(const ProcessSnapshot& snapshot) {
  DumpTotals totals;
  totals.threads = snapshot.threads.size();
  std::vector<std::chrono::nanoseconds> stops;
  for (const ThreadSnapshot& thread : snapshot.threads) {
    if (thread.seen.outcome < totals.outcomes.size()) ++totals.outcomes[thread.seen.outcome];
    if (thread.held.count() > 0) stops.push_back(thread.held);
  }
  totals.stopped = stops.size();
  // A thread that stopped too late was stopped all the same, and is among the above if it was read
  // later.
  totals.longest_stop = snapshot.longest_late_stop;
  if (stops.empty()) return totals;
  std::sort(stops.begin(), stops.end());
  totals.longest_stop = std::max(totals.longest_stop, stops.back());
  totals.median_stop = stops[(stops.size() - 1) / 2];
  return totals;
}

std::string totals_line(const ProcessSnapshot& snapshot) {
  const DumpTotals totals = add_up(snapshot);
  std::string line = count_text(totals.threads, "thread", "threads") + " = " +
                     with_thousands(totals.outcomes[LS_LABELLED]) + " labelled + " +
                     with_thousands(totals.outcomes[LS_UNLABELLED]) + " unlabelled + " +
                     unreadable_text(totals) + stops_text(snapshot, totals);
  if (snapshot.vanished > 0) {
    line += "; " + with_thousands(snapshot.vanished) + " more ended before they were read";
  }
  return line;
}

}  // namespace labelscope::cli
