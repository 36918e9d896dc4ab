// Every number of these sentences is in the ledger.
#include "cli/format/common/ledger_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "cli/text/escape.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"
#include "labelscope/label.h"

namespace labelscope::cli {
namespace {

// Returns "; stopped for 41 us (median), 350 us at most"; empty if nothing was stopped.
std::string stop_text(const Ledger& ledger) {
  const StopSummary& stops = ledger.stops;
  if (stops.longest_us == 0) return {};
  return "; each stopped its thread for " + with_thousands(stops.median_us) + " us (median), " +
         with_thousands(stops.longest_us) + " us at most";
}

std::uint64_t all_stacks(const Ledger& ledger) {
  std::uint64_t all = 0;
  for (const auto& [end, count] : ledger.counters.stacks_by_end()) all += count;
  return all;
}

// Returns " (1.2 s cpu, 340 ms waiting)", the attributed time by its kinds; empty if there is one
// kind.
std::string kinds_text(const Profile& profile) {
  if (!profile.has_kinds()) return {};
  std::vector<std::uint64_t> sums(profile.values.size());
  for (const SampleRow& row : profile.rows) {
    if (row.value < sums.size()) sums[row.value] += row.weight_ns;
  }
  std::string text;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + amount_text(sums[i], profile.values[i].unit) + " " +
            profile.values[i].name;
  }
  return text + ")";
}

// Returns "3.00 s = 1.20 s cpu + ... + -1.2 ms (-0.040%) residue".
std::string division_text(const ThreadLedger& times) {
  const std::int64_t residue = times.residue_ns();
  const auto size = static_cast<std::uint64_t>(std::abs(residue));
  const double share =
      times.wall_ns == 0 ? 0.0
                         : 100 * static_cast<double>(residue) / static_cast<double>(times.wall_ns);
  return time_text(times.cpu_ns) + " cpu + " + time_text(times.runnable_ns) + " runnable + " +
         time_text(times.waiting_ns) + " waiting + " + time_text(times.blocked_ns) + " blocked + " +
         time_text(times.open_ns) + " open + " + (residue < 0 ? "-" : "") + time_text(size) + " (" +
         decimal(share, 3) + "%) residue, " + with_thousands(times.waits) +
         (times.waits == 1 ? " wait" : " waits");
}

}  // namespace

std::string threads_line(const Profile& profile) {
  const ThreadLedgers& ledgers = profile.thread_ledgers;
  if (ledgers.count() == 0) return {};
  const ThreadLedger sum = ledgers.sum();
  return time_text(sum.wall_ns) + " of " + with_thousands(ledgers.count()) +
         (ledgers.count() == 1 ? " thread = " : " threads = ") + division_text(sum) +
         (ledgers.other_count() == 0 ? std::string()
                                     : "; the " + with_thousands(ledgers.other_count()) +
                                           " that existed shortest have no line of their own");
}

namespace {

std::string thread_text(const ThreadLedger& thread) {
  return "thread " + std::to_string(raw(thread.tid)) + " of process " +
         std::to_string(raw(thread.process.pid)) + ": " + time_text(thread.wall_ns) + " = " +
         division_text(thread);
}

// The kernel's count is up to a tick behind, at most 10 ms, and each switch costs some microseconds
// that two accounts have, or none (thread_ledger.h).
bool has_large_residue(const ThreadLedger& thread) {
  static constexpr std::uint64_t kTickNs = 10'000'000;
  static constexpr std::uint64_t kSwitchNs = 10'000;
  static constexpr std::uint64_t kOneIn = 200;
  const auto size = static_cast<std::uint64_t>(std::abs(thread.residue_ns()));
  return size > std::max(kTickNs, thread.wall_ns / kOneIn) + thread.waits * kSwitchNs;
}

}  // namespace

std::vector<std::string> worst_threads(const Profile& profile, std::size_t most) {
  std::vector<std::string> lines;
  for (const ThreadLedger& thread : profile.thread_ledgers.worst(most))
    lines.push_back("  " + thread_text(thread));
  return lines;
}

std::string large_residues_line(const Profile& profile) {
  const std::vector<ThreadLedger>& threads = profile.thread_ledgers.threads();
  const auto large = static_cast<std::size_t>(std::ranges::count_if(threads, has_large_residue));
  if (large == 0) return {};
  // The one with the largest residue may have what explains it.
  const auto worst = std::ranges::max_element(threads, {}, [](const ThreadLedger& thread) {
    return has_large_residue(thread) ? std::abs(thread.residue_ns()) : -1;
  });
  return with_thousands(large) + " of " + counted(threads.size(), "thread", "threads") +
         (large == 1 ? " has" : " have") +
         " a larger residue than ticks and switches explain (-v shows the largest); " +
         thread_text(*worst);
}

std::string_view stack_end_name(ls_stack_end end) {
#define LS_STACK_END_NAME(end, name, does) name,
  constexpr std::string_view kNames[] = {"not-wanted", LS_STACK_ENDS(LS_STACK_END_NAME)};
#undef LS_STACK_END_NAME
  return kNames[end];
}

std::string_view stack_end_name(const Stack& stack) {
  if (stack.end == LS_STACK_NOT_WANTED && !stack.frames.empty()) return kUnknownStackEnd;
  return stack_end_name(stack.end);
}

std::string stacks_line(const Ledger& ledger) {
  const std::uint64_t all = all_stacks(ledger);
  if (all == 0) return {};
  std::uint64_t whole[] = {0, 0};
  std::string reasons;
  for (const auto& [end, count] : ledger.counters.stacks_by_end()) {
    if (end == stack_end_name(LS_STACK_ROOT)) {
      whole[0] = count;
    } else if (end == stack_end_name(LS_STACK_ENTRY)) {
      whole[1] = count;
    } else {
      reasons += (reasons.empty() ? " (" : ", ") + end + ": " + with_thousands(count);
    }
  }
  if (!reasons.empty()) reasons += ")";
  const std::uint64_t unknown = ledger.written - std::min(all, ledger.written);
  if (unknown != 0) {
    reasons += "; of " + with_thousands(unknown) + (unknown == 1 ? " sample" : " samples") +
               " it is not known how the stack ends (pprof files do not say it)";
  }
  return with_thousands(all) + (all == 1 ? " stack = " : " stacks = ") + with_thousands(whole[0]) +
         " complete + " + with_thousands(whole[1]) + " at entry code + " +
         with_thousands(all - whole[0] - whole[1]) + " incomplete" + reasons;
}

std::string count_text(std::uint64_t count, std::string_view counted) {
  const bool one = counted == kSamples && count == 1;
  return with_thousands(count) + " " + (one ? "sample" : escape_terminal(counted));
}
std::string count_text(std::uint64_t count, const Profile& profile) {
  return count_text(count, profile.counted);
}

bool adds_up(const Ledger& ledger) {
  std::uint64_t sum = 0;
  for (std::uint64_t count : ledger.outcomes) sum += count;
  const std::uint64_t stacks = all_stacks(ledger);
  return ledger.taken == sum && ledger.written + ledger.dropped == ledger.taken &&
         (stacks == 0 || stacks == ledger.written);
}

namespace {

// The clocks of threads are up to a tick of 10 ms behind while these run, at the beginning and at
// the end; and a thread that was not sampled in its last period may lack that. How many ran is not
// known: at least two processors, and no more than there are threads.
std::uint64_t usual_difference_ns(const Profile& profile) {
  static constexpr std::uint64_t kTickNs = 10'000'000;
  static constexpr std::size_t kFewThreads = 4;
  static constexpr std::size_t kManyThreads = 64;
  static constexpr std::uint64_t kOneIn = 100;
  const std::size_t threads = std::clamp(profile.threads.size(), kFewThreads, kManyThreads);
  // Waits have other accounts.
  std::uint64_t ran_ns = 0;
  for (const SampleRow& row : profile.rows) {
    if (!is_wait(profile.values[row.value])) ran_ns += row.weight_ns;
  }
  return std::max({threads * kTickNs, ran_ns / kOneIn, 2 * profile.period_ns});
}

// What the accounts of a recording differ by, as far as that is no chance.
struct Differences {
  std::uint64_t twice_ns = 0;
  std::uint64_t missing_ns = 0;
};

Differences differences_of(const Profile& profile) {
  const TimeLedger& time = profile.ledger.time;
  if (time.twice_ns == 0 && time.missing_ns == 0) return {};
  const std::uint64_t usual_ns = usual_difference_ns(profile);
  Differences differences;
  if (time.twice_ns > usual_ns) differences.twice_ns = time.twice_ns;
  // Ptrace sees no thread between two looks, so there such time is usual, and the guess is good.
  if (profile.backend == "bpf" && time.missing_ns > usual_ns)
    differences.missing_ns = time.missing_ns;
  return differences;
}

// Returns "; counted twice: 1.40 s".
std::string differences_text(const Profile& profile) {
  const Differences differences = differences_of(profile);
  std::string text;
  if (differences.twice_ns != 0) text += "; counted twice: " + time_text(differences.twice_ns);
  if (differences.missing_ns != 0)
    text += "; in no thread's account: " + time_text(differences.missing_ns);
  const TimeLedger& time = profile.ledger.time;
  if (time.waits_twice_ns != 0)
    text += "; waits counted twice: " + time_text(time.waits_twice_ns);
  if (time.waits_missing_ns != 0)
    text += "; waits in no account: " + time_text(time.waits_missing_ns);
  return text;
}

}  // namespace

void leave_out_usual_differences(Profile& profile) {
  const Differences differences = differences_of(profile);
  profile.ledger.time.twice_ns = differences.twice_ns;
  profile.ledger.time.missing_ns = differences.missing_ns;
}

std::vector<std::string> account_problems(const Profile& profile) {
  const Differences differences = differences_of(profile);
  std::vector<std::string> lines;
  if (differences.twice_ns != 0) {
    lines.push_back("counted twice: " + time_text(differences.twice_ns) +
                    " of CPU time, which the recorded processes have not used by their own clocks, "
                    "or not all processors have (this is a defect of labelscope)");
  }
  if (differences.missing_ns != 0) {
    lines.push_back("missing: " + time_text(differences.missing_ns) +
                    " of CPU time that is in no recorded thread's account: it is of processes that "
                    "were not sampled, or records of threads were lost");
  }
  const TimeLedger& time = profile.ledger.time;
  if (time.waits_twice_ns != 0) {
    lines.push_back("counted twice: " + time_text(time.waits_twice_ns) +
                    " of waits, for which the recorded threads have not waited by their own "
                    "accounts, the clock or schedstat (this is a defect of labelscope)");
  }
  if (time.waits_missing_ns != 0) {
    lines.push_back("missing: " + time_text(time.waits_missing_ns) +
                    " of waits, by the recorded threads' own accounts, the clock or schedstat: "
                    "waits were not seen, or did not fit into the kernel's tables");
  }
  if (!adds_up(profile.ledger))
    lines.emplace_back("the ledger does not add up: this is a defect of labelscope");
  return lines;
}

std::string time_line(const Profile& profile) {
  const TimeLedger& time = profile.ledger.time;
  const std::vector<std::uint64_t> parts = {time.attributed_ns, time.unsampled_ns, time.lost_ns};
  const std::vector<std::uint64_t> shares = shares_of_1000(parts);
  const ValueType value = profile.whole_value();
  auto part = [&](std::size_t i) {
    return amount_text(parts[i], value.unit) + " (" + percent_text(shares[i]) + ")";
  };
  if (profile.backend.empty()) {  // a pprof file of another tool
    return amount_text(time.whole(), value.unit) + " of " + value.name + " (" + value.unit + ")";
  }
  // Several kinds together are the time of their threads.
  const KindOfSamples* kind = time_kind(value);
  const bool runs =
      std::ranges::find(profile.values, value_of_kind(LS_ON_CPU)) != profile.values.end();
  if (kind == nullptr) kind = &kKindsOfSamples[LS_WHOLE_TIME];
  const std::string whole =
      time_text(time.whole()) + " of " +
      (profile.has_kinds() && !runs ? "time off processors" : std::string(kind->words));
  // The kernel's account covers all samples, and not only those that are left.
  if (!profile.remarks.empty()) return whole + " in these samples" + kinds_text(profile);
  return whole + std::string(kind->account) + " = " + part(0) + " attributed" +
         kinds_text(profile) + " + " + part(1) + " of threads never sampled + " + part(2) +
         " lost" + differences_text(profile);
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
  // Only labelscope writes and drops.
  const bool ours = !profile.backend.empty() && profile.remarks.empty();
  return count_text(ledger.taken, profile) + " by " + profile.event + " = " +
         with_thousands(ledger.outcomes[LS_LABELLED]) + " labelled + " +
         with_thousands(ledger.outcomes[LS_UNLABELLED]) + " unlabelled + " +
         with_thousands(unreadable) + " unreadable" + reasons +
         (ours ? "; " + with_thousands(ledger.written) + " written, " +
                     with_thousands(ledger.dropped) + " dropped" + stop_text(ledger)
               : std::string());
}

std::string remarks_line(const Profile& profile) {
  std::string line;
  for (const std::string& remark : profile.remarks) line += (line.empty() ? "" : "; ") + remark;
  return line;
}

}  // namespace labelscope::cli
