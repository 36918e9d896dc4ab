// Sentences about targets and numbers. Paths and names are escaped: they come from the target.
#include "cli/record/messages.h"

#include <string_view>

#include "cli/format/escape.h"
#include "cli/format/shares.h"
#include "cli/format/text.h"
#include "cli/record/stack_ends.h"

namespace labelscope::cli {
namespace {

struct CounterText {
  std::string_view name;
  std::string_view
      what;              // what is counted; empty: it is in the files, but nothing to be told about
  std::string_view why;  // and what helps
};

// What the sampler's counters mean for the one who records, as "what: number (why)". A name that is
// not here is shown as it is.
constexpr CounterText kCounterTexts[] = {
    {"of-other-processes", "", ""},
    {"outside-pid-namespace", "", ""},
    {"retries-scheduled", "", ""},
    {"retries-sent", "", ""},
    {"retries-of-dropped-samples", "", ""},
    {"user-stack-failed", "samples without user stack",
     "the thread was starting, ending, or the kernel's own"},
    {"kernel-stack-failed", "samples without kernel stack", ""},
    {"throttled", "times that the kernel paused sampling",
     "sampling took it too long: a lower -F helps"},
    {"dropped-label-reads", "repeated label reads that were lost", "the ring buffer was full"},
    {"dropped-forks", "starts of child processes that were found out later",
     "they did not fit into the ring buffer"},
    {"dropped-execs", "changes of program that were found out later",
     "they did not fit into the ring buffer"},
    {"dropped-exits", "ends of processes that were found out later",
     "they did not fit into the ring buffer"},
    {"children-not-followed", "child processes that were not sampled",
     "a larger --max-processes helps"},
    {"children-refused", "child processes that were not sampled", "they may not be looked at"},
    {"mapping-events-lost", "times that a new mapping was not announced",
     "some addresses may have no name"},
    {"retries-refused-pending", "reads of missing pages that were not repeated",
     "one was under way for the thread"},
    {"retries-refused-table-full", "reads of missing pages that were not repeated",
     "too many at once"},
    {"retries-refused-by-kernel", "reads of missing pages that were not repeated",
     "the kernel refused"},
    {"retries-refused-exiting", "reads of missing pages that were not repeated",
     "the thread was ending"},
    {"retries-without-scratch", "reads of missing pages that were not repeated",
     "too many at once"},
    {"process-events-recovered", "process events that were lost",
     "they were worked out again from what exists"},
    {"ticks", "", ""},
    {"ticks-skipped", "ticks that were skipped",
     "labelscope had no processor at their time, or stopping threads took longer than a tick: "
     "--backend bpf, or a lower -F"},
    {"threads-ended-first", "", ""},
    {"threads-waiting-again", "", ""},
    {"threads-not-stopped", "samples with neither labels nor stack",
     "the thread did not stop in time: it waits in the kernel for something that nothing "
     "interrupts"},
    {"threads-without-processor", "samples with neither labels nor stack",
     "the thread waited for a processor and did not stop in time, since too many threads can run: "
     "--backend bpf reads them without stopping them"},
    {"threads-refused", "samples with neither labels nor stack", "their thread may not be stopped"},
    {"stacks-cut-by-max-stop", "stacks that are cut",
     "unwinding them took longer than --max-stop; they are marked stack-cut"},
    {"stacks-incomplete", "stacks that end early", "code without call frame information"},
    {"threads-without-cpu-time", "threads whose CPU time is not told",
     "no /proc/PID/schedstat in this kernel, or too many open files; they are sampled whenever "
     "they could run, waiting for a processor included"},
    {"mappings-not-read", "times that the mappings of a process could not be read", ""},
    {"stop-longest-us", "", ""},
    {"stop-median-us", "", ""},
    {"stop-p99-us", "", ""},
    {"first-threads-not-stopped", "processes without labels of their first thread",
     "it must be stopped once for that, and may not be: somebody else traces it, or ptrace is not "
     "permitted"},
    {"samples-not-held", "samples that did not wait for their repeated read", "too many at once"},
};

std::string counter_line(const std::string& name, std::uint64_t count) {
  for (const CounterText& known : kCounterTexts) {
    if (known.name != name) continue;
    if (known.what.empty()) return {};
    std::string line = std::string(known.what) + ": " + with_thousands(count);
    if (!known.why.empty()) line.append(" (").append(known.why).append(")");
    return line;
  }
  // stack_ends_text() tells of the other ends of stacks.
  return counts_stacks(name) ? std::string() : name + ": " + with_thousands(count);
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
  if (plan.publishers.empty()) return text + escape_terminal(plan.absence());
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    const Publisher& publisher = plan.publishers[i];
    text += (i == 0 ? "labels from " : ", and from ") + escape_terminal(publisher.path) + " (" +
            access_text(publisher) + ")";
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
    lines.push_back("samples with more labels than are kept: " + with_thousands(ledger.truncated) +
                    " (" + std::to_string(LS_MAX_LABELS) + " labels, " +
                    with_thousands(LS_MAX_LABEL_BYTES) +
                    " bytes are kept; they are marked labelscope.truncated)");
  }
  for (const auto& [name, count] : ledger.counters) {
    std::string line = counter_line(name, count);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (!adds_up(ledger))
    lines.emplace_back("the ledger does not add up: this is a defect of labelscope");
  return lines;
}

std::string time_line(const Profile& profile) {
  const TimeLedger& time = profile.ledger.time;
  const std::vector<std::uint64_t> parts = {time.attributed_ns, time.unsampled_ns, time.lost_ns};
  const std::vector<std::uint64_t> shares = shares_of_1000(parts);
  auto part = [&](std::size_t i) {
    return time_text(parts[i]) + " (" + percent_text(shares[i]) + ")";
  };
  return time_text(time.whole()) +
         (profile.mode == "wall" ? " of threads' time" : " of CPU time by the kernel's account") +
         " = " + part(0) + " attributed + " + part(1) + " of threads never sampled + " + part(2) +
         " lost";
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
  return with_thousands(ledger.taken) + (ledger.taken == 1 ? " sample by " : " samples by ") +
         profile.event + " = " + with_thousands(ledger.outcomes[LS_LABELLED]) + " labelled + " +
         with_thousands(ledger.outcomes[LS_UNLABELLED]) + " unlabelled + " +
         with_thousands(unreadable) + " unreadable" + reasons + "; " +
         with_thousands(ledger.written) + " written, " + with_thousands(ledger.dropped) +
         " dropped" + stop_text(ledger);
}

}  // namespace labelscope::cli
