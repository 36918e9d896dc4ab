// The ledger has the sums of counters.h, and for each the counter of the recording.
#include "bpf/wire/ledger.h"

#include <numeric>

namespace labelscope {
namespace {

struct NamedCounter {
  ls_counter index;
  Counter counter;
};
#define LS_NAMED_COUNTER(index, counter) {index, Counter::counter},
constexpr NamedCounter kNamedCounters[] = {LS_NAMED_COUNTERS(LS_NAMED_COUNTER)};
#undef LS_NAMED_COUNTER

}  // namespace

Counters make_ledger(const ls_counters& counters) {
  const auto& value = counters.value;
  Counters result;
  result.taken = value[LS_COUNT_TAKEN];
  result.truncated = value[LS_COUNT_TRUNCATED];
  result.dropped = value[LS_COUNT_DROPPED_SAMPLE];
  result.lost_thread_ns = value[LS_COUNT_LOST_THREAD_NS];
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) result.outcomes[i] = value[i];
  result.pending = value[LS_COUNT_RETRY_SCHEDULED] - value[LS_COUNT_RETRY_SENT] -
                   value[LS_COUNT_RETRY_UNSENT] - value[LS_COUNT_DROPPED_LABELS];
  for (const auto& [index, counter] : kNamedCounters) result.others[counter] = value[index];
  return result;
}

bool adds_up(const ls_counters& counters) {
  Counters ledger = make_ledger(counters);
  return std::accumulate(ledger.outcomes.begin(), ledger.outcomes.end(), ledger.pending) ==
         ledger.taken;
}

}  // namespace labelscope
