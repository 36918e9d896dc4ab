// Sentences about targets and numbers. Paths and names are escaped: they come from the target.
#include "cli/record/messages.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/format/common/ledger_text.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// Returns "what: number (why)"; empty if it is no problem.
std::string counter_line(Counter counter, std::uint64_t count, bool bpf_helps) {
  const CounterText& text = text_of(counter);
  if (count == 0 || text.meaning != CounterText::Meaning::kProblem) return {};
  std::string line = std::string(text.what) + ": " + with_thousands(count);
  if (text.why.empty()) return line;
  line.append(" (").append(text.why);
  if (bpf_helps) line.append(text.why_here);
  return line.append(")");
}

using std::chrono::nanoseconds;

std::string in_ms(nanoseconds time) {
  return with_thousands(static_cast<std::uint64_t>(time / std::chrono::milliseconds(1))) + " ms";
}

// Explains a recording that was over before a sample could be expected: what the target did in that
// time means nothing. Empty for any other.
std::string over_at_once(const NoSample& recording) {
  constexpr int kFewPeriods = 3;
  const nanoseconds period = nanoseconds(std::chrono::seconds(1)) / recording.frequency_hz;
  if (recording.duration >= kFewPeriods * period) return {};
  const bool began = recording.duration >= std::chrono::milliseconds(1);
  const std::string when = began
                               ? in_ms(recording.duration) + " after labelscope had begun to sample"
                               : std::string("before labelscope began to sample");
  if (recording.interrupted) return "the recording was interrupted " + when;
  // For a command it is known how long it ran.
  if (recording.ended && !recording.command) return "the target ended " + when;
  return {};
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
    // dump --explain shows how its variable is reached.
    if (!goes_without_saying(publisher)) {
      const bool of_first = publisher.recipe.kind == LS_FIRST_THREAD_AT_ADDRESS;
      text += " (" + escape_terminal(variable_name(publisher)) +
              (of_first ? ", for the first thread alone)" : ")");
    }
    // What the loader has not filled yet will be, mostly before anything is sampled.
    if (publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED && plan.plan_again) continue;
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

std::vector<std::string> ledger_problems(const Ledger& ledger, bool bpf_helps,
                                         bool lacks_mappings) {
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
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const auto counter = static_cast<Counter>(i);
    // The kernel reports mappings of all processes in the same buffers: mostly those of others.
    if (counter == Counter::kMappingEventsLost && !lacks_mappings) continue;
    std::string line = counter_line(counter, ledger.counters[counter], bpf_helps);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string waits_without_thread(const std::set<std::string_view>& waiting) {
  std::string who;
  for (const std::string_view one : waiting) {
    who += (who.empty() ? "" : ", and ") + std::string(one);
  }
  if (who.empty()) return {};
  return who +
         " have no thread while they wait, so the time of waits by label is not theirs: it shows "
         "system calls that block a thread, and how long threads wait for a processor";
}

std::string functions_of_scripts(const Profile& profile) {
  struct Interpreter {
    std::string_view language;
    std::string_view program;  // how the names of its programs begin; of its libraries with "lib"
    std::string_view help;
  };
  constexpr std::array kInterpreters = std::to_array<Interpreter>(
      {{"Python", "python3", "python3 -X perf (3.12 and later) names them"},
       {"PHP", "php", "labels tell them apart: --preset php-fpm or mod-php"},
       {"Ruby", "ruby", "ruby --yjit --yjit-perf (3.3 and later) names those that it compiles"},
       {"Perl", "perl", "labels tell them apart"}});
  const auto is_of = [](std::string_view file, const Interpreter& one) {
    if (file.starts_with("lib")) file.remove_prefix(3);
    return file.starts_with(one.program);
  };
  std::array<std::uint64_t, kInterpreters.size()> time{};
  std::uint64_t whole = 0;
  for (const SampleRow& row : profile.rows) {
    whole += row.weight_ns;
    if (row.stack == kNoIndex) continue;
    std::size_t found = kInterpreters.size();
    for (const Index frame : profile.stacks[row.stack].frames) {
      const Location& location = profile.locations[frame];
      const bool is_named = !location.lines.empty() &&
                            std::string_view(location.lines[0].function).starts_with("py::");
      if (is_named && row.weight_ns != 0) return {};
      if (location.module == kNoIndex) continue;
      const std::string_view file = base_name(profile.modules[location.module].path);
      for (std::size_t i = 0; i < kInterpreters.size(); ++i) {
        if (is_of(file, kInterpreters[i])) found = i;
      }
    }
    if (found < time.size()) time[found] += row.weight_ns;
  }
  const auto most = std::ranges::max_element(time);
  // Where it is a small part, nobody looks for them.
  if (*most == 0 || *most < whole / 10) return {};
  const Interpreter& about = kInterpreters[static_cast<std::size_t>(most - time.begin())];
  return std::string(about.language) +
         " runs scripts, whose functions are not shown, only those of the interpreter: " +
         std::string(about.help);
}

std::string why_no_sample(const NoSample& recording) {
  const std::string rate = std::to_string(recording.frequency_hz) + " Hz";
  if (std::string over = over_at_once(recording); !over.empty()) return over;
  if (recording.wall) {
    return "the target had no thread to stop in " + in_ms(recording.duration) + " at " + rate;
  }
  if (recording.off_cpu) {
    return "no thread of the target has waited in " + in_ms(recording.duration) +
           "; --mode cpu shows where it computes";
  }
  if (!recording.standstill.empty()) return recording.standstill;
  // The kernel's work for a process that waits is counted, too, so this much is nothing.
  constexpr nanoseconds kNothing = std::chrono::microseconds(100);
  if (recording.ran < kNothing) {
    return recording.ended
               ? "the target ended after " + in_ms(recording.duration) +
                     ", before it was seen on a processor at " + rate
               : "the target did not run on a processor in " + in_ms(recording.duration) +
                     "; it was idle or waiting: --mode wall shows where threads wait";
  }
  // The kernel's account is of whole processes, and may reach to before the start of the recording.
  const nanoseconds time = std::min(recording.ran, recording.duration);
  const std::string ran =
      "the target ran for " +
      (time < std::chrono::milliseconds(1) ? std::string("less than 1 ms") : in_ms(time)) + " of " +
      in_ms(recording.duration);
  if (recording.ptrace) {
    return ran + ", and never when it was looked at, " + rate +
           (recording.bpf_helps ? ": --backend bpf sees short bursts, or a higher -F"
                                : ": a higher -F looks more often");
  }
  // A longer -d does not help if the run is over.
  return ran + ", too little for a sample at " + rate + ": a higher -F helps, or " +
         (recording.ended ? "a program that runs longer" : "a longer -d");
}

}  // namespace labelscope::cli
