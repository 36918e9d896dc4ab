// Sentences about targets and numbers. Paths and names are escaped: they come from the target.
#include "cli/record/messages.h"

#include <algorithm>
#include <string_view>

#include "cli/format/common/ledger_text.h"
#include "cli/profile/label_rules.h"
#include "cli/record/stack_ends.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

struct CounterText {
  std::string_view name;
  std::string_view
      what;              // what is counted; empty: it is in the files, but nothing to be told about
  std::string_view why;  // and what helps
  std::string_view by_bpf = {};  // likewise, where --backend bpf can be had
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
    {"children-without-files", "child processes that were not sampled",
     "too many open files: ulimit -n raises the limit"},
    {"plans-without-files", "times that a process could not be looked at again",
     "too many open files: ulimit -n raises the limit; its samples are unreadable meanwhile"},
    // The kernel announces those of all processes in the same buffers.
    {"mapping-events-lost", "new mappings that the kernel did not announce",
     "they came too fast, from any process of this machine, recorded or not; some addresses may "
     "have no name"},
    {"mappings-forgotten", "mappings of code that were forgotten, since no sample was in them",
     "a process makes them without end; samples in code that is gone when they are looked at have "
     "no "
     "name"},
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
     "labelscope had no processor at their time, or stopping threads took longer than a tick: a "
     "lower -F helps",
     ", or --backend bpf"},
    {"threads-ended-first", "", ""},
    {"threads-waiting-again", "", ""},
    {"threads-not-stopped", "samples with neither labels nor stack",
     "the thread did not stop in time: it waits in the kernel for something that nothing "
     "interrupts"},
    {"threads-without-processor", "samples with neither labels nor stack",
     "the thread waited for a processor and did not stop in time, since too many threads can run",
     ": --backend bpf reads them without stopping them"},
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
    {"unwind-tables", "", ""},
    {"unwind-table-bytes", "", ""},
    {"unwind-tables-evicted", "", ""},
    {"unwind-tables-failed", "files whose call frame information was not used",
     "they could not be opened, or are damaged"},
    {"unwind-tables-without-room", "files whose call frame information was not used",
     "a larger --max-unwind-mb helps, unless more than 8,192 files are loaded at a time"},
    {"unwind-mappings-without-room", "mappings in which stacks end", "too many"},
    {"fp-frames", "", ""},
    {"samples-with-fp-frames", "", ""},
    // ProfileReport tells of both, as what was asked for.
    {kLabelsLeftOut, "", ""},
    {kLabelsHashed, "", ""},
    {"samples-not-held", "samples that did not wait for their repeated read", "too many at once"},
};

std::string counter_line(const std::string& name, std::uint64_t count, bool bpf_helps) {
  for (const CounterText& known : kCounterTexts) {
    if (known.name != name) continue;
    if (known.what.empty()) return {};
    std::string line = std::string(known.what) + ": " + with_thousands(count);
    if (known.why.empty()) return line;
    line.append(" (").append(known.why);
    if (bpf_helps) line.append(known.by_bpf);
    line.append(")");
    return line;
  }
  // stack_ends_text() tells of the other ends of stacks.
  return counts_stacks(name) ? std::string() : name + ": " + with_thousands(count);
}

}  // namespace

std::string describe_labels(const TrackedProcess& process) {
  std::string text =
      std::to_string(raw(process.pid())) + " (" + escape_terminal(process.comm()) + "): ";
  const ProcessPlan& plan = process.plan();
  if (plan.publishers.empty()) return text + escape_terminal(plan.absence());
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    const Publisher& publisher = plan.publishers[i];
    text += (i == 0 ? "labels from " : ", and from ") + escape_terminal(publisher.path);
    // How its variable is reached is for dump --explain.
    if (publisher.recipe.source != LS_SOURCE_CUSTOM_LABELS) {
      text += " (" + escape_terminal(variable_name(publisher)) + ")";
    }
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

VariableSeen look_for_variable(const Recorder& recorder, std::size_t variable) {
  VariableSeen seen;
  for (const auto& [pid, process] : recorder.processes()) {
    const ProcessPlan& plan = process->plan();
    const auto one = std::ranges::find(plan.missing, variable, &MissingVariable::index);
    if (one != plan.missing.end()) {
      seen.missing = &*one;
    } else {
      seen.found |= plan.modules != 0;
    }
  }
  return seen;
}

std::vector<std::string> ledger_problems(const Ledger& ledger, bool bpf_helps) {
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
    std::string line = counter_line(name, count, bpf_helps);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (!adds_up(ledger))
    lines.emplace_back("the ledger does not add up: this is a defect of labelscope");
  return lines;
}

}  // namespace labelscope::cli
