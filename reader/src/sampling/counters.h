// A recording counts these things beside its samples. Each counter has a number here, for the code
// that counts, and a row in the table of counters.cc: its name in files, and what it means for the
// user.
//
//   sampler, recorder --> Counts --> ledger --> files (by name), sentences (by row), page
//   files of any version --> by name --> Counts; a name that is not known is kept as it is
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "unwind/stack.h"

namespace labelscope {

enum class Counter : std::uint8_t {
  // The BPF programs count these (bpf/wire/counters.h).
  kOfOtherProcesses,
  kOutsidePidNamespace,
  kNoScratch,
  kDroppedLabelReads,
  kDroppedForks,
  kDroppedExecs,
  kDroppedExits,
  kUserStackFailed,
  kKernelStackFailed,
  kRetriesScheduled,
  kRetriesSent,
  kRetriesOfDroppedSamples,
  kRetriesRefusedPending,
  kRetriesRefusedTableFull,
  kRetriesRefusedByKernel,
  kRetriesRefusedExiting,
  kRetriesWithoutScratch,
  kWaitsWithoutRoom,
  kWaitsRefused,
  kWaitsWithoutScratch,
  kWaitsOfEnded,
  kWaitsWithoutTotal,
  kWakeupsNotSeen,
  kSwitchesNotSeen,
  kDroppedThreadWaits,
  kLabelSetsWithoutRoom,
  kDroppedLabelSets,
  kBlameWithoutRoom,
  kBlameOwners,
  kBlameOwnersElsewhere,
  kBlameOwnersUnread,
  // The BPF sampler counts these.
  kRecordsMalformed,
  kSamplesNotHeld,
  kProcessEventsRecovered,
  kMappingEventsLost,
  kMappingEventsMalformed,
  kThrottled,
  kRatesNotChanged,
  kProcessorsNotSampled,
  kFirstThreadsNotStopped,
  kWaitWeightsChanged,
  kUnwindTables,
  kUnwindTableBytes,
  kUnwindTablesFailed,
  kUnwindTablesWithoutRoom,
  kUnwindTablesEvicted,
  kUnwindMappingsWithoutRoom,
  // The sampler that stops threads counts these.
  kTicks,
  kTicksSkipped,
  kThreadsEndedFirst,
  kThreadsNotStopped,
  kThreadsRefused,
  kThreadsWithoutProcessor,
  kThreadsWaitingAgain,
  kThreadsWithoutCpuTime,
  kMappingsNotRead,
  // Each sampler and the recorder count these.
  kChildrenNotFollowed,
  kChildrenRefused,
  kChildrenWithoutFiles,
  kRetriesPending,
  kPlansWithoutFiles,
  kPlansFailed,
  kPlansPostponed,
  kRecipesNotStored,
  kForksNotSeen,
  kSamplesWithFpFrames,
  kFpFrames,
  kMappingsForgotten,
  kSamplesInLostMappings,
  kWaitRowsWithoutRoom,
  kBlameRowsWithoutRoom,
  // The rules for labels count these, and what is done with them at the end.
  kLabelsLeftOut,
  kLabelsHashed,
  kLabelsOverCap,
  kLabelsLearned,
  // These count stacks by their ends, in the order of enum ls_stack_end: use stack_counter().
  kStacks,
  kCount = kStacks + (LS_STACK_END_COUNT - LS_STACK_ROOT)
};
inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::kCount);

// `end` must not be LS_STACK_NOT_WANTED.
constexpr Counter stack_counter(ls_stack_end end) {
  return static_cast<Counter>(static_cast<int>(Counter::kStacks) + end - LS_STACK_ROOT);
}

struct CounterText {
  Counter counter;
  std::string_view name;  // its name in files
  // What is counted, for people. A statistic is only written to files; a problem is also reported.
  enum class Meaning : std::uint8_t { kStatistic, kProblem } meaning;
  std::string_view what;
  std::string_view why = {};        // for a problem: why, and what helps
  std::string_view why_here = {};   // the same, if --backend bpf is possible too
  std::string_view name_once = {};  // its name in files of older versions
};
const CounterText& text_of(Counter counter);

// The names of counters of stacks begin with this: "stacks-complete".
inline constexpr std::string_view kStackCounter = "stacks-";

class Counts {
 public:
  std::uint64_t& operator[](Counter counter) { return counts_[static_cast<std::size_t>(counter)]; }
  std::uint64_t operator[](Counter counter) const {
    return counts_[static_cast<std::size_t>(counter)];
  }
  // Sets a counter that a file has.
  void set(std::string_view name, std::uint64_t count);
  // Returns the counters that are not 0.
  std::map<std::string, std::uint64_t> by_name() const;
  // Returns those of by_name() that count stacks, by the names of their ends: "complete".
  std::map<std::string, std::uint64_t> stacks_by_end() const;
  Counts& operator+=(const Counts& other);
  // `earlier`: the same counters, at an earlier time.
  Counts& operator-=(const Counts& earlier);
  bool operator==(const Counts&) const = default;

 private:
  std::array<std::uint64_t, kCounterCount> counts_{};
  std::map<std::string, std::uint64_t> unknown_;  // names that this version does not have
};

// For how long threads were stopped, if the sampler stops them; 0 if none was.
struct StopSummary {
  std::uint64_t longest_us = 0;
  std::uint64_t median_us = 0;
  std::uint64_t p99_us = 0;
};

}  // namespace labelscope
