// Ledger: sums and names of counters.h.
#include "bpf/wire/ledger.h"

#include <numeric>

namespace labelscope {
namespace {

struct CounterName {
  unsigned index;
  const char* name;
};
#define LS_COUNTER_NAME(index, name) {index, name},
constexpr CounterName kCounterNames[] = {LS_NAMED_COUNTERS(LS_COUNTER_NAME)};
#undef LS_COUNTER_NAME

// Counters that are not in Counters::others, because they have a member of their own.
bool has_own_place(unsigned index) {
  return index == LS_COUNT_TAKEN || index == LS_COUNT_TRUNCATED ||
         index == LS_COUNT_DROPPED_SAMPLE || index == LS_COUNT_LOST_THREAD_NS;
}

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
                   value[LS_COUNT_RETRY_UNSENT] - value[LS_COUNT_DROPPED_LABELS] -
                   value[LS_COUNT_RETRY_NO_SCRATCH];
  for (const CounterName& counter : kCounterNames) {
    if (value[counter.index] != 0 && !has_own_place(counter.index)) {
      result.others[counter.name] = value[counter.index];
    }
  }
  return result;
}

bool adds_up(const ls_counters& counters) {
  Counters ledger = make_ledger(counters);
  return std::accumulate(ledger.outcomes.begin(), ledger.outcomes.end(), ledger.pending) ==
         ledger.taken;
}

}  // namespace labelscope
