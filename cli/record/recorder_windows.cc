// How a recording ends, and how it is cut into windows: both make a profile of the rows since the
// last cut.
//
//   cut()            sampler, clocks -->  end_window()  -->  the rows, with copies of what they use
//   stop(), take_profile()            -->  end_window()  -->  the rows, with all that is known
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cli/profile/blame.h"
#include "cli/profile/merge.h"
#include "cli/record/recorder.h"

namespace labelscope::cli {
namespace {

// What so many windows have not used is forgotten, if it is much.
constexpr std::uint32_t kWindowsKept = 8;
// Of a process that has ended and is in no window, its name is kept for so many cuts.
constexpr unsigned kCutsUntilOver = 2;

// The entries that have a number, by their numbers.
std::vector<Index> entries_of(const std::vector<Index>& numbers) {
  std::vector<Index> entries;
  for (Index i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != kNoIndex) entries.push_back(i);
  }
  return entries;
}

}  // namespace

Status Recorder::stop() {
  // Those that wait for their turn have no other one.
  while (plans_wait_) {
    plan_until_.reset();
    plans_wait_ = !plan_those_due();
  }
  for (const auto& [key, process] : processes_) {
    if (process->ended()) continue;
    const Busy busy(*this, key.pid);
    // A process may publish facts about itself at any time, without loading a library.
    process->renew_facts(TrackedProcess::Clock::now());
  }
  renew_names();
  if (!stops_) {
    look_at_group(TrackedProcess::Clock::now());
    clocks_.expect_stop();
    if (samples_waits_) queues_.expect_stop();
  }
  Status status = std::exchange(stops_, true) ? Status() : sampler_->stop(*this);
  clocks_.stop();
  // The kernel has a wait for a processor whole when it ends, in which window it may be. So what it
  // has is no account of a window.
  if (samples_waits_ && !window_.has_cut()) queues_.stop();
  doubt_group();
  note_process_times();
  return status;
}

// A process may have changed its name since the last sample of its first thread.
void Recorder::renew_names() {
  for (const auto& [pid, process] : current_) {
    if (process->ended()) continue;
    const Busy busy(*this, pid);
    process->renew_name();
  }
}

// A cgroup's clock is no account of the recording if others were in the group.
void Recorder::doubt_group() {
  if (!group_) return;
  group_->look_last(recorded_now(), [this](Pid pid) { return knows(pid); });
  if (!joined_.empty()) group_->note_entered(*joined_.begin());
  if (!group_->doubt().empty()) clocks_.forget_group();
}

void Recorder::note_process_times() {
  // The kernel sums up only CPU time.
  if (!counts_cpu_) return;
  // A process whose fork was lost may have the number of one whose clock was read.
  const bool forks_lost = sampler_->counters().others[Counter::kDroppedForks] != 0;
  for (const auto& [pid, bounds] : clocks_.bounds()) {
    builder_.accounts().set_process_time(
        pid, bounds.least_ns, forks_lost ? ProcessClocks::Bounds::kUnknown : bounds.most_ns);
  }
}

KernelTotals Recorder::kernel_totals(const Counters& counters, std::uint64_t whole_ns) const {
  KernelTotals totals;
  if (has_accounts_)
    totals.lost_ns = counters.lost_thread_ns - std::min(counters.lost_thread_ns, lost_before_ns_);
  whole_ns -= std::min(whole_ns, whole_before_ns_);
  totals.whole_ns = std::max(whole_ns, clocks_.of_group().least_ns);
  totals.is_all_the_rest = totals.whole_ns == whole_ns;
  if (counts_cpu_) totals.most_ns = std::min(clocks_.most_of_all(), clocks_.of_group().most_ns);
  for (const Counter unlike :
       {Counter::kChildrenNotFollowed, Counter::kChildrenRefused, Counter::kChildrenWithoutFiles}) {
    totals.has_strangers |= counters_[unlike] != 0 || counters.others[unlike] != 0;
  }
  return totals;
}

Result<Profile> Recorder::cut(std::vector<ModuleFile>& files) {
  look_at_group(TrackedProcess::Clock::now());
  clocks_.expect_cut();
  if (Status status = sampler_->cut(*this); !status) return std::move(status).error();
  clocks_.cut();
  doubt_group();
  note_process_times();
  renew_names();
  // These may read processes and files. What follows reads nothing, and is done once.
  const Index main_program = program();
  std::vector<ProfileModule> modules = modules_.copy(files);
  Profile& all = end_window(window_.without_those_on_their_way(sampler_->counters()), 0, false);
  fill_processes(all, false);
  all.program = main_program;
  const UsedEntries used = entries_in_use(all, modules.size());
  const Renumbering numbers(used);
  last_use_.note(used);
  Profile window = builder_.begin_window(numbers);
  keep_numbered(modules, numbers.modules);
  keep_numbered(files, numbers.modules);
  window.modules = std::move(modules);
  cut_locations_ = entries_of(numbers.locations);
  cut_modules_ = entries_of(numbers.modules);
  clocks_.begin_window();
  forget_unused();
  forget_label_numbers();
  forget_gone();
  return window;
}

void Recorder::keep_names(const Profile& window) {
  for (std::size_t i = 0; i < cut_locations_.size() && i < window.locations.size(); ++i) {
    if (cut_locations_[i] != kNoIndex && window.locations[i].was_named)
      builder_.keep_names(cut_locations_[i], window.locations[i]);
  }
  for (std::size_t i = 0; i < cut_modules_.size() && i < window.modules.size(); ++i) {
    if (cut_modules_[i] != kNoIndex) modules_.keep_names(cut_modules_[i], window.modules[i]);
  }
}

// What the main program of the first process is.
Index Recorder::program() {
  if (first_ == nullptr) return kNoIndex;
  const Busy busy(*this, first_->pid());
  return first_->program();
}

// Without this, a recording without end would keep each process, stack and label that it has ever
// met.
void Recorder::forget_unused() {
  const UsedEntries lately = last_use_.of_last(kWindowsKept);
  if (!LastUse::is_worth(lately) && !builder_.is_crowded()) return;
  const Renumbering numbers(lately);
  builder_.keep(numbers);
  modules_.keep(numbers.modules);
  last_use_.keep(numbers);
  for (Index& location : cut_locations_) location = Renumbering::of(numbers.locations, location);
  for (Index& module : cut_modules_) module = Renumbering::of(numbers.modules, module);
  std::set<const void*> done;
  for (const auto& [key, process] : processes_) {
    process->renumber(numbers);
    process->renumber_modules(numbers.modules, done);
  }
  for (auto& [key, gone] : gone_) gone.row = Renumbering::of(numbers.processes, gone.row);
}

void Recorder::forget_label_numbers() {
  if (!samples_waits_) return;
  sampler_->forget_label_numbers(builder_.forget_numbers(sampler_->label_numbers_in_use()));
}

// What is still to come of a process that has ended comes within a second, mostly.
void Recorder::forget_gone() {
  for (auto entry = gone_.begin(); entry != gone_.end();) {
    Gone& gone = entry->second;
    const bool is_over = gone.row == kNoIndex && !processes_.contains(entry->first) &&
                         ++gone.cuts >= kCutsUntilOver;
    entry = is_over ? gone_.erase(entry) : std::next(entry);
  }
}

// Whether nothing in a process has published labels, by its entry of Profile::processes.
std::vector<bool> Recorder::silent_rows(std::size_t count) const {
  std::vector<bool> silent(count);
  for (const auto& [key, process] : processes_) {
    if (process->row != kNoIndex) silent[process->row] = process->publishes_nothing();
  }
  for (const auto& [key, gone] : gone_) {
    if (gone.row != kNoIndex) silent[gone.row] = gone.publishes_nothing;
  }
  return silent;
}

// Samples of a program that is not planned yet are unreadable, because there may be labels. If it
// turns out later that nothing in it publishes labels, there were none, and these samples become
// unlabelled.
void Recorder::settle_unplanned(Profile& profile) const {
  const std::vector<bool> silent = silent_rows(profile.processes.size());
  const auto settle = [&](auto& row, Index process) {
    const bool settled = row.outcome == LS_UNREADABLE_NOT_RELOCATED && process < silent.size() &&
                         silent[process];
    if (settled) row.outcome = LS_UNLABELLED;
    return settled;
  };
  for (WaitRow& row : profile.waits) settle(row, row.process);
  merge_equal_waits(profile.waits);
  for (BlameRow& row : profile.blame) {
    settle(row, row.process);
    settle(row.by, row.by.process);
  }
  for (SampleRow& row : profile.rows) {
    if (!settle(row, profile.threads[row.thread].process)) continue;
    std::uint64_t& unplanned = profile.ledger.outcomes[LS_UNREADABLE_NOT_RELOCATED];
    const std::uint64_t moved = std::min(unplanned, row.count);
    unplanned -= moved;
    profile.ledger.outcomes[LS_UNLABELLED] += moved;
  }
}

// Fills in the entries of all processes that rows refer to.
void Recorder::fill_processes(Profile& profile, bool is_last) {
  for (auto& [key, gone] : gone_) {
    if (gone.row == kNoIndex) continue;
    profile.processes[gone.row] = is_last ? std::move(gone.process) : gone.process;
  }
  for (const auto& [key, process] : processes_) {
    if (process->row != kNoIndex && !gone_.contains(key))
      profile.processes[process->row] = process->summary();
  }
}

// Adds those without rows. What has gone on as another program, and has no row, was nothing to
// anybody.
void Recorder::add_other_processes(Profile& profile) {
  for (auto& [key, gone] : gone_) {
    if (gone.row == kNoIndex && !gone.goes_on) profile.processes.push_back(std::move(gone.process));
  }
  for (const auto& [key, process] : processes_) {
    if (process->row == kNoIndex && !gone_.contains(key))
      profile.processes.push_back(process->summary());
    process->caches = {};  // naming and writing need memory, too
  }
}

// What has been counted since the start.
Ledger Recorder::sums(const Counters& counters) const {
  Ledger ledger;
  ledger.taken = counters.taken;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    ledger.outcomes[i] += counters.outcomes[i] + builder_.undecoded()[i];
    ledger.outcomes[LS_LABELLED] -= builder_.undecoded()[i];
  }
  ledger.dropped = counters.dropped;
  ledger.truncated = counters.truncated;
  ledger.written = builder_.samples();
  ledger.stops = counters.stops;
  ledger.counters = counters.others;
  ledger.counters += counters_;
  ledger.counters[Counter::kRetriesPending] = counters.pending;
  ledger.counters[Counter::kMappingsForgotten] = modules_.forgotten();
  ledger.counters[Counter::kSamplesInLostMappings] = builder_.in_lost_mappings();
  count_labels(builder_.label_changes(), ledger);
  ledger.counters[Counter::kLabelSetsWithoutRoom] = builder_.numbered().numbers_with_lost_keys();
  ledger.counters[Counter::kWaitRowsWithoutRoom] = builder_.left_out().waits;
  ledger.counters[Counter::kBlameRowsWithoutRoom] = builder_.left_out().blamed_waits;
  return ledger;
}

// `whole_ns`: the CPU time of all targets since the start, if that is known otherwise.
Profile& Recorder::end_window(const Counters& counters, std::uint64_t whole_ns, bool is_last) {
  if (samples_waits_) {
    const auto find = [this](ProcessKey key) { return process_of_waits(key); };
    if (!options_.blame.empty()) builder_.add_blame(sampler_->blame_totals(), find, !is_last);
    builder_.add_totals(sampler_->wait_totals(), find, !is_last);
  }
  ThreadLedgers ledgers = sampler_->thread_ledgers();
  ledgers.each([this](ThreadLedger& thread) { thread.entry = process_of_waits(thread.process).row; });
  Profile& profile = builder_.end_window(kernel_totals(counters, whole_ns), is_last);
  const TimeLedger time = profile.ledger.time;
  profile.ledger = window_.cut(sums(counters));
  profile.ledger.time = time;
  whole_before_ns_ += time.whole();
  lost_before_ns_ = std::max(lost_before_ns_, counters.lost_thread_ns);
  profile.thread_ledgers = std::move(ledgers);
  settle_unplanned(profile);
  if (builder_.numbered().has_sets_of_blame()) profile.blame_keys = options_.blame;
  if (profile.has_blame) complete_blame(profile);
  if (samples_waits_) {
    const std::uint64_t stolen_ns = options_.clocks.stolen();
    note_wait_differences(profile, queues_, stolen_ns - std::exchange(stolen_before_ns_, stolen_ns));
  }
  profile.event = std::string(sampler_->event_name());
  return profile;
}

Profile Recorder::take_profile(std::vector<ModuleFile>& files, std::uint64_t time_ns) {
  // These may read processes and files. What follows reads nothing, and is done once.
  const Index main_program = program();
  std::vector<ProfileModule> modules = modules_.take(files);
  const Counters counters = sampler_->counters();
  end_window(window_.has_cut() ? window_.without_those_on_their_way(counters) : counters, time_ns,
             true);
  Profile profile = builder_.move_out();
  fill_processes(profile, true);
  add_other_processes(profile);
  profile.program = main_program;
  profile.modules = std::move(modules);
  return profile;
}

}  // namespace labelscope::cli
