// Sentences about targets and numbers. Paths and names are escaped: they come from the target.
#include "cli/record/messages.h"

#include <string_view>

#include "cli/format/amounts.h"
#include "cli/format/escape.h"
#include "cli/record/progress.h"

namespace labelscope::cli {
namespace {

struct CounterText {
  std::string_view name;
  std::string_view text;  // empty: counted in the files, but nothing to be told about
};

// What the sampler's counters mean for the one who records. A name that is not here is shown as it
// is.
constexpr CounterText kCounterTexts[] = {
    {"of-other-processes", ""},
    {"outside-pid-namespace", ""},
    {"retries-scheduled", ""},
    {"retries-sent", ""},
    {"retries-of-dropped-samples", ""},
    {"user-stack-failed",
     "samples have no user stack (the thread was starting, ending, or the kernel's own)"},
    {"kernel-stack-failed", "samples have no kernel stack"},
    {"throttled", "times the kernel paused sampling because it took too long: a lower -F helps"},
    {"dropped-label-reads", "repeated label reads were lost because the ring buffer was full"},
    {"dropped-forks",
     "starts of child processes did not fit into the ring buffer and were found out later"},
    {"dropped-execs",
     "changes of program did not fit into the ring buffer and were found out later"},
    {"dropped-exits",
     "ends of processes did not fit into the ring buffer and were found out later"},
    {"children-not-followed", "child processes were not sampled: a larger --max-processes helps"},
    {"mapping-events-lost",
     "times a new mapping was not announced: some addresses may have no name"},
    {"retries-refused-pending",
     "reads of missing pages were not repeated: one was under way for the thread"},
    {"retries-refused-table-full", "reads of missing pages were not repeated: too many at once"},
    {"retries-refused-by-kernel", "reads of missing pages were not repeated: the kernel refused"},
    {"retries-refused-exiting", "reads of missing pages were not repeated: the thread was ending"},
    {"retries-without-scratch", "reads of missing pages were not repeated: too many at once"},
    {"process-events-recovered", "process events were lost and worked out again from what exists"},
    {"ticks", ""},
    {"ticks-skipped",
     "ticks were skipped, because stopping all threads took longer than the time between two: a "
     "lower -F helps"},
    {"threads-ended-first", ""},
    {"threads-waiting-again", ""},
    {"threads-not-stopped",
     "samples have neither labels nor stack: the thread did not stop in time (it waits in the "
     "kernel for something that nothing interrupts), or somebody else traces it"},
    {"stacks-cut-by-max-stop",
     "stacks are cut because unwinding them took longer than --max-stop; they are marked "
     "stack-cut"},
    {"stacks-incomplete",
     "stacks end early: code without call frame information, or more frames than are kept"},
    {"threads-without-cpu-time",
     "threads are sampled whenever they could run, waiting for a processor included: their CPU "
     "time is not told (no /proc/PID/schedstat in this kernel, or too many open files)"},
    {"mappings-not-read", "times the mappings of a process could not be read"},
    {"stop-longest-us", ""},
    {"stop-median-us", ""},
    {"stop-p99-us", ""},
    {"first-threads-not-stopped",
     "processes have no labels of their first thread: it must be stopped once for that, and may "
     "not "
     "be (somebody else traces it, or ptrace is not permitted)"},
    {"samples-not-held", "samples did not wait for their repeated read: too many at once"},
};

std::string counter_line(const std::string& name, std::uint64_t count) {
  for (const CounterText& known : kCounterTexts) {
    if (known.name != name) continue;
    return known.text.empty() ? std::string()
                              : with_thousands(count) + " " + std::string(known.text);
  }
  return with_thousands(count) + " " + name;
}

// "; stopped for 41 us (median), 350 us at most"; empty where nothing was stopped.
std::string stop_text(const Ledger& ledger) {
  auto longest = ledger.counters.find("stop-longest-us");
  auto median = ledger.counters.find("stop-median-us");
  if (longest == ledger.counters.end() || median == ledger.counters.end()) return {};
  return "; each stopped its thread for " + with_thousands(median->second) + " us (median), " +
         with_thousands(longest->second) + " us at most";
}

}  // namespace

std::string describe_labels(const TrackedProcess& process) {
  std::string text =
      std::to_string(raw(process.pid())) + " (" + escape_terminal(process.comm()) + "): ";
  const ProcessPlan& plan = process.plan();
  if (plan.publishers.empty()) return text + "no labels: " + escape_terminal(plan.absence());
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    const Publisher& publisher = plan.publishers[i];
    text += (i == 0 ? "labels from " : ", and from ") + escape_terminal(publisher.path) + " (" +
            std::string(access_model_name(publisher.model)) + ")";
    for (const Finding& finding : publisher.findings) {
      text += "; " + escape_terminal(finding_clause(finding));
    }
  }
  for (const Refusal& refusal : plan.refusals) {
    text += "; not from " + escape_terminal(refusal.path) + ": " +
            escape_terminal(finding_clause(refusal.finding));
  }
  return text;
}

bool adds_up(const Ledger& ledger) {
  std::uint64_t sum = 0;
  for (std::uint64_t count : ledger.outcomes) sum += count;
  return ledger.taken == sum && ledger.written + ledger.dropped == ledger.taken;
}

std::vector<std::string> ledger_problems(const Ledger& ledger) {
  std::vector<std::string> lines;
  if (ledger.dropped > 0) {
    lines.push_back(
        percent(ledger.dropped, ledger.taken) +
        " of the samples were dropped because the ring buffer was full: a larger --ring-size or "
        "a lower -F helps");
  }
  if (ledger.truncated > 0) {
    lines.push_back(with_thousands(ledger.truncated) + " samples hold more labels than are kept (" +
                    std::to_string(LS_MAX_LABELS) + " labels, " +
                    with_thousands(LS_MAX_LABEL_BYTES) +
                    " bytes); they are marked labelscope.truncated");
  }
  for (const auto& [name, count] : ledger.counters) {
    std::string line = counter_line(name, count);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (!adds_up(ledger))
    lines.emplace_back("the ledger does not add up: this is a defect of labelscope");
  return lines;
}

std::string ledger_line(const Profile& profile) {
  const Ledger& ledger = profile.ledger;
  std::uint64_t unreadable = 0;
  std::string reasons;
  for (unsigned outcome = 0; outcome < LS_OUTCOME_COUNT; ++outcome) {
    if (!is_unreadable(outcome) || ledger.outcomes[outcome] == 0) continue;
    unreadable += ledger.outcomes[outcome];
    reasons += (reasons.empty() ? " (" : ", ") + std::string(outcome_text(outcome)) + ": " +
               with_thousands(ledger.outcomes[outcome]);
  }
  if (!reasons.empty()) reasons += ")";
  return with_thousands(ledger.taken) + " samples by " + profile.event + " = " +
         with_thousands(ledger.outcomes[LS_LABELLED]) + " labelled + " +
         with_thousands(ledger.outcomes[LS_UNLABELLED]) + " unlabelled + " +
         with_thousands(unreadable) + " unreadable" + reasons + "; " +
         with_thousands(ledger.written) + " written, " + with_thousands(ledger.dropped) +
         " dropped" + stop_text(ledger);
}

}  // namespace labelscope::cli
