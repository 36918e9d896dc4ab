// This is the table of counters. A new counter is a number in counters.h, and a row here at the
// same place.
#include "sampling/counters.h"

namespace labelscope {
namespace {

using enum Counter;
using enum CounterText::Meaning;

constexpr std::string_view kNotRepeated = "reads of missing pages that were not repeated";
constexpr std::string_view kNotSampled = "child processes that were not sampled";
constexpr std::string_view kNeitherNor = "samples with neither labels nor stack";
constexpr std::string_view kDidNotFit = "they did not fit into the ring buffer";
constexpr std::string_view kTablesNotUsed = "files whose call frame information was not used";

constexpr CounterText kTexts[] = {
    {kOfOtherProcesses, "of-other-processes", kStatistic, "events while another process ran"},
    {kOutsidePidNamespace, "outside-pid-namespace", kStatistic,
     "events while a process outside of this PID namespace ran"},
    {kNoScratch, "no-scratch", kProblem, "samples that there was no memory for"},
    {kDroppedLabelReads, "dropped-label-reads", kProblem, "repeated label reads that were lost",
     "the ring buffer was full"},
    {kDroppedForks, "dropped-forks", kProblem,
     "starts of child processes that were found out later", kDidNotFit},
    {kDroppedExecs, "dropped-execs", kProblem, "changes of program that were found out later",
     kDidNotFit},
    {kDroppedExits, "dropped-exits", kProblem, "ends of processes that were found out later",
     kDidNotFit},
    {kUserStackFailed, "user-stack-failed", kProblem, "samples without user stack",
     "the thread was starting, ending, or the kernel's own"},
    {kKernelStackFailed, "kernel-stack-failed", kProblem, "samples without kernel stack"},
    {kRetriesScheduled, "retries-scheduled", kStatistic,
     "reads of missing pages that were repeated"},
    {kRetriesSent, "retries-sent", kStatistic, "repeated reads that were sent"},
    {kRetriesOfDroppedSamples, "retries-of-dropped-samples", kStatistic,
     "repeated reads of samples that were dropped"},
    {kRetriesRefusedPending, "retries-refused-pending", kProblem, kNotRepeated,
     "one was under way for the thread"},
    {kRetriesRefusedTableFull, "retries-refused-table-full", kProblem, kNotRepeated,
     "too many at once"},
    {kRetriesRefusedByKernel, "retries-refused-by-kernel", kProblem, kNotRepeated,
     "the kernel refused"},
    {kRetriesRefusedExiting, "retries-refused-exiting", kProblem, kNotRepeated,
     "the thread was ending"},
    {kRetriesWithoutScratch, "retries-without-scratch", kProblem, kNotRepeated, "too many at once"},

    {kWaitsWithoutRoom, "waits-without-room", kProblem, "waits that were not counted",
     "more threads waited at once than there is room for"},
    {kWaitsRefused, "waits-refused", kStatistic, "waits whose sample the kernel did not take"},
    {kWaitsWithoutScratch, "waits-without-scratch", kProblem, "waits that were not sampled",
     "too many samples of waits at once"},
    {kWaitsOfEnded, "waits-of-ended-threads", kStatistic,
     "waits without a sample, because the thread ended in them"},
    {kWaitsWithoutTotal, "waits-without-total", kProblem,
     "waits whose time was shared out by samples alone",
     "new totals came faster than they could be taken out (65,536 at once)"},
    {kWakeupsNotSeen, "wakeups-not-seen", kStatistic,
     "waits whose wake-up the kernel did not announce: the time in the run queue counts as "
     "waiting"},
    {kSwitchesNotSeen, "switches-not-seen", kStatistic,
     "waits of which the kernel did not announce the beginning or the end: the thread's CPU time "
     "says how long they were"},
    {kDroppedThreadWaits, "dropped-thread-waits", kProblem,
     "threads without a line of their own that says how their time divides",
     "the ring buffer was full when they ended"},
    {kLabelSetsWithoutRoom, "label-sets-without-room", kStatistic,
     "label sets whose waits count under those of their labels that have fewer values, because "
     "there were more than 65,536"},
    {kDroppedLabelSets, "dropped-label-sets", kStatistic,
     "label sets of waits that had to be sent again, because the ring buffer was full"},
    {kBlameWithoutRoom, "blame-without-room", kProblem, "waits that are blamed on nobody",
     "new pairs of label sets came faster than they could be taken out (131,072 at once)"},
    {kBlameOwners, "blame-owners", kStatistic,
     "waits for a lock that are blamed on the thread which held it"},
    {kBlameOwnersElsewhere, "blame-owners-elsewhere", kStatistic,
     "waits for a lock that are blamed on who woke the thread, because what looks like the owner is "
     "not known to be a thread of the same process, or another thread lets go of the lock"},
    {kBlameOwnersUnread, "blame-owners-unread", kStatistic,
     "waits for a lock that are blamed on who woke the thread, because the owner's labels could not "
     "be read at that moment"},
    {kRecordsMalformed, "records-malformed", kProblem,
     "records of the BPF programs that contradict themselves", "this is a defect of labelscope"},
    {kSamplesNotHeld, "samples-not-held", kProblem,
     "samples that did not wait for their repeated read", "too many at once"},
    {kProcessEventsRecovered, "process-events-recovered", kProblem, "process events that were lost",
     "they were worked out again from what exists"},
    // The kernel reports mappings of all processes in the same buffers.
    {kMappingEventsLost, "mapping-events-lost", kProblem,
     "new mappings that the kernel did not announce",
     "they came too fast, from any process of this machine, recorded or not; some addresses may "
     "have no name"},
    {kMappingEventsMalformed, "mapping-events-malformed", kProblem,
     "announcements of the kernel that contradict themselves"},
    {kThrottled, "throttled", kProblem, "times that the kernel paused sampling",
     "sampling took it too long: a lower -F helps"},
    {kRatesNotChanged, "rates-not-changed", kProblem,
     "times that the kernel did not change the rate of sampling",
     "samples came at regular times meanwhile"},
    {kProcessorsNotSampled, "processors-not-sampled", kProblem,
     "processors that were sampled for a part of the recording, or not at all",
     "they went offline or came online meanwhile; time is right, and shares are those of the other "
     "processors"},
    {kFirstThreadsNotStopped, "first-threads-not-stopped", kProblem,
     "processes without labels of their first thread",
     "it must be stopped once for that, and may not be: another process traces it, or ptrace is "
     "not permitted"},
    {kWaitWeightsChanged, "wait-weights-changed", kStatistic,
     "changes of the weight of short waits, which bound the number of samples"},
    {kUnwindTables, "unwind-tables", kStatistic, "files with unwind tables"},
    {kUnwindTableBytes, "unwind-table-bytes", kStatistic, "bytes of unwind tables"},
    {kUnwindTablesFailed, "unwind-tables-failed", kProblem, kTablesNotUsed,
     "they could not be opened, or are damaged"},
    {kUnwindTablesWithoutRoom, "unwind-tables-without-room", kProblem, kTablesNotUsed,
     "a larger --max-unwind-mb helps, unless more than 8,192 files are loaded at a time"},
    {kUnwindTablesEvicted, "unwind-tables-evicted", kStatistic,
     "unwind tables that were dropped for others"},
    {kUnwindMappingsWithoutRoom, "unwind-mappings-without-room", kProblem,
     "mappings in which stacks end", "too many"},

    {kTicks, "ticks", kStatistic, "ticks"},
    {kTicksSkipped, "ticks-skipped", kProblem, "ticks that were skipped",
     "labelscope had no processor at their time, or stopping threads took longer than a tick: a "
     "lower -F helps",
     ", or --backend bpf"},
    {kThreadsEndedFirst, "threads-ended-first", kStatistic,
     "threads that ended before they were sampled"},
    {kThreadsNotStopped, "threads-not-stopped", kProblem, kNeitherNor,
     "the thread did not stop in time: it waits in the kernel for something that nothing "
     "interrupts"},
    {kThreadsRefused, "threads-refused", kProblem, kNeitherNor, "their thread may not be stopped"},
    {kThreadsWithoutProcessor, "threads-without-processor", kProblem, kNeitherNor,
     "the thread waited for a processor and did not stop in time, since too many threads can run",
     ": --backend bpf reads them without stopping them"},
    {kThreadsWaitingAgain, "threads-waiting-again", kStatistic,
     "threads that waited again when they were stopped"},
    {kThreadsWithoutCpuTime, "threads-without-cpu-time", kProblem,
     "threads whose CPU time is not known",
     "no /proc/PID/schedstat in this kernel, or too many open files; they are sampled whenever "
     "they could run, waiting for a processor included"},
    {kMappingsNotRead, "mappings-not-read", kProblem,
     "times that the mappings of a process could not be read"},

    {kChildrenNotFollowed, "children-not-followed", kProblem, kNotSampled,
     "a larger --max-processes helps"},
    {kChildrenRefused, "children-refused", kProblem, kNotSampled, "they may not be looked at"},
    {kChildrenWithoutFiles, "children-without-files", kProblem, kNotSampled,
     "too many open files: ulimit -n raises the limit"},
    {kRetriesPending,
     "retries-pending",
     kProblem,
     "repeated reads that never came",
     {},
     {},
     "repeated reads still pending"},
    {kPlansWithoutFiles, "plans-without-files", kProblem,
     "times that a process could not be looked at again",
     "too many open files: ulimit -n raises the limit; its samples are unreadable meanwhile"},
    {kPlansFailed,
     "plans-failed",
     kProblem,
     "times that a process could not be looked at again",
     "its samples are unreadable meanwhile",
     {},
     "times that a process could not be looked at again"},
    {kPlansPostponed, "plans-postponed", kStatistic,
     "times that a process waited for its plan, because samples came first"},
    {kRecipesNotStored,
     "recipes-not-stored",
     kProblem,
     "processes whose recipes could not be stored",
     {},
     {},
     "processes whose recipes could not be stored"},
    {kForksNotSeen,
     "forks-not-seen",
     kProblem,
     "processes whose fork was not seen",
     {},
     {},
     "processes whose fork was not seen"},
    {kSamplesWithFpFrames, "samples-with-fp-frames", kStatistic,
     "samples with frames found by frame pointers"},
    {kFpFrames, "fp-frames", kStatistic, "frames found by frame pointers"},
    {kMappingsForgotten, "mappings-forgotten", kProblem,
     "mappings of code that were forgotten, since no sample was in them",
     "a process makes them without end; samples in code that is gone when they are looked at have "
     "no name"},
    {kSamplesInLostMappings, "samples-in-lost-mappings", kProblem,
     "samples with addresses of which it is not known what was mapped there",
     "labelscope stood still for so long, or new mappings came so fast, that the kernel could not "
     "announce all of them"},

    {kWaitRowsWithoutRoom, "wait-rows-without-room", kProblem,
     "waits whose time was shared out by samples alone",
     "more processes and label sets have waited than 131,072: those that waited least"},
    {kBlameRowsWithoutRoom, "blame-rows-without-room", kProblem,
     "waits that are blamed on (many others), or on nobody",
     "more label sets made each other wait than 262,144 pairs: those with least time"},

    {kLabelsLeftOut, "labels-left-out", kStatistic,
     "labels of samples left out by --label-deny or --label-allow"},
    {kLabelsHashed, "labels-hashed", kStatistic, "labels of samples hashed by --label-hash"},
    {kLabelsOverCap, "labels-over-cap", kStatistic,
     "labels of samples whose value became (other), since the label had more values than it may"},
    {kLabelsLearned, "labels-learned", kStatistic,
     "labels of samples whose name was learned from other samples of the server"},

#define LS_STACK_COUNTER_TEXT(end, name, does) \
  {stack_counter(end), "stacks-" name, kStatistic, "stacks that " does},
    LS_STACK_ENDS(LS_STACK_COUNTER_TEXT)
#undef LS_STACK_COUNTER_TEXT
};

constexpr bool has_each_at_its_place() {
  for (std::size_t i = 0; i < std::size(kTexts); ++i) {
    if (kTexts[i].counter != static_cast<Counter>(i)) return false;
  }
  return std::size(kTexts) == kCounterCount;
}
static_assert(has_each_at_its_place());

// One sentence reports all ends of stacks (cli/record/stack_ends.h), but these ends also have a
// cause to report.
constexpr CounterText kStackProblems[] = {
    {stack_counter(LS_STACK_OUT_OF_TIME), "stacks-cut-by-max-stop", kProblem, "stacks that are cut",
     "unwinding them took longer than --max-stop; they are marked stack-cut"},
    {stack_counter(LS_STACK_NO_WAY_ON), "stacks-incomplete", kProblem, "stacks that end early",
     "code without call frame information"},
};

}  // namespace

const CounterText& text_of(Counter counter) {
  for (const CounterText& text : kStackProblems) {
    if (text.counter == counter) return text;
  }
  return kTexts[static_cast<std::size_t>(counter)];
}

void Counts::set(std::string_view name, std::uint64_t count) {
  for (const CounterText& text : kTexts) {
    if (name != text.name && (text.name_once.empty() || name != text.name_once)) continue;
    (*this)[text.counter] = count;
    return;
  }
  unknown_[std::string(name)] = count;
}

std::map<std::string, std::uint64_t> Counts::by_name() const {
  std::map<std::string, std::uint64_t> named = unknown_;
  for (const CounterText& text : kTexts) {
    if ((*this)[text.counter] != 0) named[std::string(text.name)] = (*this)[text.counter];
  }
  return named;
}

std::map<std::string, std::uint64_t> Counts::stacks_by_end() const {
  std::map<std::string, std::uint64_t> ends;
  for (const auto& [name, count] : by_name()) {
    if (name.starts_with(kStackCounter)) ends[name.substr(kStackCounter.size())] = count;
  }
  return ends;
}

Counts& Counts::operator+=(const Counts& other) {
  for (std::size_t i = 0; i < kCounterCount; ++i) counts_[i] += other.counts_[i];
  for (const auto& [name, count] : other.unknown_) unknown_[name] += count;
  return *this;
}

// A few counters say how much there is now, and may have become less.
Counts& Counts::operator-=(const Counts& earlier) {
  const auto subtract = [](std::uint64_t& from, std::uint64_t count) {
    from -= std::min(from, count);
  };
  for (std::size_t i = 0; i < kCounterCount; ++i) subtract(counts_[i], earlier.counts_[i]);
  for (const auto& [name, count] : earlier.unknown_) subtract(unknown_[name], count);
  return *this;
}

}  // namespace labelscope
