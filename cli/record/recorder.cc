// Handles the sampler's events.
#include "cli/record/recorder.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "cli/host/exit_status.h"
#include "process/child_processes.h"

namespace labelscope::cli {
namespace {

// Whether samples of this kind share out the time of their threads (time_accounts.h).
bool has_account(ls_sample_kind kind) { return kind == LS_ON_CPU || kind == LS_WHOLE_TIME; }

bool counts_cpu(std::span<const ls_sample_kind> kinds) {
  return std::ranges::find(kinds, LS_ON_CPU) != kinds.end();
}

// A new library is planned several times until then (tracked_process.cc).
constexpr std::chrono::milliseconds kUntilCalm{1000};

// A look at a cgroup takes some 30 us, and more with each process. It may take this part of the
// time.
constexpr std::chrono::milliseconds kBetweenGroupLooks{100};
constexpr int kGroupLookPart = 200;

}  // namespace

Recorder::Recorder(std::unique_ptr<Sampler> sampler, const Options& options)
    : sampler_(std::move(sampler)),
      options_(options),
      process_labels_(options.process_labels),
      clocks_(counts_cpu(options.kinds) ? options.clocks : options.clocks.without_processes()),
      queues_(options.clocks.queues),
      builder_(options.timed_samples, options.period_ns, options.labels, options.kinds,
               options.limits),
      planner_(PlannerOptions{
          .variables = options.variables, .presets = options.presets, .noticed = options.noticed}),
      variables_seen_(options.variables.size()),
      presets_seen_(options.presets.size()),
      has_accounts_(std::ranges::any_of(options.kinds, has_account)),
      counts_cpu_(counts_cpu(options.kinds)),
      samples_waits_(std::ranges::any_of(options.kinds, [](auto kind) { return is_wait(kind); })) {
  builder_.numbered().keep_for_blame(options.blame);
}

Status Recorder::add(Pid pid, const PinnedProcesses* pins) {
  if (left_out_.contains(pid))
    return Error{ErrorCode::kLimit, "process " + std::to_string(raw(pid)) + " does not answer"};
  const Busy busy(*this, pid);
  note_event();
  // Time of a process that joins while others are sampled is the recording's from now on.
  if (started_) clocks_.expect(pid);
  // The sampler must know the process before it is planned: otherwise an exec between the plan and
  // its use would be missed.
  Status known =
      started_ ? sampler_->set_running_process(pid) : sampler_->set_process(pid, {&kNotPlanned, 1});
  if (!known) {
    clocks_.forget(pid);
    return known;
  }
  if (started_) clocks_.begin(pid);
  auto process = track(sampler_->key_of(pid));
  Status status = process->refresh(process_labels_, sampler_->first_look(pid));
  find_server(*process);
  // The sampler knows of the end of each process that it has, so it is enough that this one was
  // there after the sampler was given the number.
  const bool is_meant = pins == nullptr || pins->is_still(pid);
  if (!is_meant && (status || !is_gone(status.error()))) {
    status = Error{ErrorCode::kVanished, "no process " + std::to_string(raw(pid))};
  }
  if (status) {
    status = sampler_->set_process(pid, process->recipes(), process->plan().presets);
    // The process has executed another program meanwhile. Its on_exec() will plan again.
    if (!status && status.error().code == ErrorCode::kVanished &&
        (kill(raw(pid), 0) == 0 || errno == EPERM)) {
      status = {};
    }
  }
  if (!status) {
    static_cast<void>(sampler_->remove_process(pid));  // keep the first error, which is the reason
    // It may have been sampled meanwhile.
    if (started_ && is_meant) {
      joined_.insert(pid);
      keep(std::move(process));
      clocks_.end(pid);
    } else {
      clocks_.forget(pid);
    }
    return status;
  }
  note_plan(pid, process->plan());
  if (started_) {
    ++plans_;
    joined_.insert(pid);
  }
  keep(std::move(process));
  return {};
}

bool Recorder::has(Pid pid) const {
  const TrackedProcess* known = current(pid);
  return left_out_.contains(pid) || (known != nullptr && !known->ended());
}

// It has its number from now on, and whatever had it before has ended.
TrackedProcess& Recorder::keep(std::unique_ptr<TrackedProcess> process) {
  TrackedProcess& kept = *process;
  take_row(kept);
  std::unique_ptr<TrackedProcess>& place = processes_[kept.key()];
  if (place) {
    // It was sampled before it was added.
    kept.row = place->row;
    if (last_process_ == place.get()) last_process_ = nullptr;
    if (first_ == place.get()) first_ = &kept;
    for (const TrackedProcess*& example : examples_) {
      if (example == place.get()) example = &kept;
    }
  } else {
    ++process_count_;
  }
  TrackedProcess*& its = current_[kept.pid()];
  if (its != nullptr && its != place.get() && !its->ended()) its->on_exit();
  its = &kept;
  if (first_ == nullptr) first_ = &kept;
  place = std::move(process);
  return kept;
}

Status Recorder::add_before_exec(Pid pid, UniqueFd program) {
  if (Status status = sampler_->set_before_exec(pid, std::move(program)); !status) return status;
  keep(track(sampler_->key_of(pid))).note_no_publisher();
  return {};
}

bool Recorder::add_counted(Pid pid, const PinnedProcesses* pins) {
  const Status status = add(pid, pins);
  if (status) return true;
  if (status.error().code == ErrorCode::kLimit) {
    ++counters_[Counter::kChildrenNotFollowed];
  } else if (status.error().code == ErrorCode::kTooManyFiles) {
    ++counters_[Counter::kChildrenWithoutFiles];
  } else if (!is_gone(status.error())) {
    ++counters_[Counter::kChildrenRefused];
  }
  return false;
}

std::size_t Recorder::add_children(Pid parent) {
  std::size_t added = 0;
  std::vector<Pid> parents{parent};
  while (!parents.empty()) {
    const Busy busy(*this, parents.back());
    auto process = LiveProcess::open(parents.back());
    parents.pop_back();
    if (!process) continue;  // it has ended
    for (Pid child : child_processes(**process)) {
      if (has(child) || !add_counted(child)) continue;
      ++added;
      parents.push_back(child);
    }
  }
  return added;
}

Status Recorder::start() {
  note_event();
  table_times_.start(monotonic_ns());
  if (follows_children_ && counts_cpu_) {
    if (const auto group = GroupClock::of(recorded_now())) {
      group_.emplace(*group);
      clocks_.watch([group = *group] { return group.used_ns(); });
    }
  }
  clocks_.expect_start();
  if (samples_waits_) stolen_before_ns_ = options_.clocks.stolen();
  for (const auto& [key, process] : processes_) {
    if (left_out_.contains(key.pid)) continue;
    clocks_.expect(key.pid);
    if (samples_waits_) queues_.expect(key.pid);
  }
  Status status = sampler_->start();
  for (const auto& [key, process] : processes_) {
    if (!left_out_.contains(key.pid)) clocks_.begin(key.pid);
  }
  clocks_.start();
  if (samples_waits_) queues_.begin();
  // This reports children that were forked while everything was prepared (on_fork()).
  if (status) status = sampler_->drain(*this, std::chrono::milliseconds(0));
  started_ = true;
  look_at_group(TrackedProcess::Clock::now());
  return status;
}

std::set<Pid> Recorder::recorded_now() const {
  std::set<Pid> pids;
  for (const auto& [key, process] : processes_) {
    if (!process->ended()) pids.insert(key.pid);
  }
  return pids;
}

// Whether what has or had this number is recorded.
bool Recorder::knows(Pid pid) const {
  const auto gone = gone_.lower_bound({pid, 0});
  return current_.contains(pid) || (gone != gone_.end() && gone->first.pid == pid);
}

void Recorder::look_at_group(TrackedProcess::Clock::time_point now) {
  if (!group_) return;
  group_->look(recorded_now(), [this](Pid pid) { return knows(pid); });
  const auto then = TrackedProcess::Clock::now();
  next_group_look_ = then + std::max<TrackedProcess::Clock::duration>(
                                kBetweenGroupLooks, (then - now) * kGroupLookPart);
}

Status Recorder::step(std::chrono::milliseconds timeout) {
  if (plans_wait_) timeout = {};
  plan_until_.reset();
  if (Status status = sampler_->drain(*this, timeout); !status) return status;
  plans_wait_ = !plan_those_due();
  const auto now = TrackedProcess::Clock::now();
  for (auto& [key, process] : processes_) {
    const Busy busy(*this, key.pid);
    process->watch_facts(now);
  }
  let_go(now);
  if (now >= next_group_look_) look_at_group(now);
  return {};
}

// Returns false if some wait for the next step.
bool Recorder::plan_those_due() {
  const auto now = TrackedProcess::Clock::now();
  bool has_planned = false;
  for (auto& [key, process] : processes_) {
    if (!process->plan_due(now)) continue;
    const bool has_time = has_time_to_plan();
    if (has_planned && !has_time) return false;
    plan(*process);
    has_planned = true;
  }
  return true;
}

bool Recorder::has_time_to_plan() {
  const auto now = TrackedProcess::Clock::now();
  if (!plan_until_) plan_until_ = now + options_.plan_budget;
  return now < *plan_until_;
}

// A program may run only for a moment, so it is planned at once, unless many are: samples of all
// that run would be lost meanwhile.
void Recorder::plan_if_time(TrackedProcess& process) {
  if (!started_ || stops_ || has_time_to_plan()) return plan(process);
  process.plan_soon();
  plans_wait_ = true;
  ++counters_[Counter::kPlansPostponed];
}

// Samples of a thread that ends come a moment after the end of its process, so it is kept until
// then.
void Recorder::let_go(TrackedProcess::Clock::time_point now) {
  if (now < next_let_go_) return;
  next_let_go_ = now + TrackedProcess::kLatestEvent;
  last_process_ = nullptr;
  std::erase_if(processes_, [&](const auto& entry) {
    TrackedProcess& process = *entry.second;
    if (!process.is_over(now) || &process == first_ || is_example(process)) return false;
    note_gone(process);
    const auto its = current_.find(process.pid());
    if (its != current_.end() && its->second == &process) current_.erase(its);
    return true;
  });
}

// What was known first is what the process was while it ran.
void Recorder::note_gone(TrackedProcess& process) {
  const auto [entry, fresh] = gone_.try_emplace(process.key());
  if (!fresh) return;
  Gone& gone = entry->second;
  gone.is_known = true;
  // This may add a publisher.
  if (samples_waits_) gone.waits = cli::process_of_waits(process);
  gone.waits.process = nullptr;
  gone.process = process.summary();
  gone.publishes_nothing = process.publishes_nothing();
  gone.row = process.row;
}

// Totals of its waits may have come before anything else of it.
void Recorder::take_row(TrackedProcess& process) {
  const auto gone = gone_.find(process.key());
  if (gone == gone_.end() || gone->second.is_known) return;
  process.row = gone->second.row;
  gone_.erase(gone);
}

bool Recorder::is_example(const TrackedProcess& process) {
  const bool publishes = process.publishes();
  const bool refused = !process.plan().refusals.empty();
  const TrackedProcess*& example = examples_[(publishes ? 1 : 0) + (refused ? 2 : 0)];
  if (example == nullptr) example = &process;
  return example == &process;
}

void Recorder::note_plan(Pid pid, const ProcessPlan& plan) {
  // Processes may load ever new files.
  constexpr std::size_t kMostLost = 1000;
  for (const Refusal& refusal : plan.refusals) {
    if (refusal.finding.code != FindingCode::kTooManyPublishers) continue;
    if (lost_publishers_.size() == kMostLost) break;
    lost_publishers_.try_emplace(refusal.path, LostPublisher{pid, finding_clause(refusal.finding)});
  }
  const auto note = [&](auto& seen, const auto& all_missing) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const auto missing =
          std::ranges::find_if(all_missing, [&](const auto& one) { return one.index == i; });
      if (missing == all_missing.end()) {
        seen[i].found |= plan.modules != 0;
      } else if (!seen[i].missing) {
        seen[i].missing = *missing;
      }
    }
  };
  note(variables_seen_, plan.missing);
  note(presets_seen_, plan.missing_presets);
}

void Recorder::note_event() { last_event_ = TrackedProcess::Clock::now(); }

void Recorder::plan(TrackedProcess& process) {
  if (process.is_left_out()) return;
  const Busy busy(*this, process.pid());
  ++plans_;
  const bool knew_labels = process.knows_own_labels();
  if (Status status = process.refresh(process_labels_); !status) {
    // The process has ended since the event. What we know about it stays.
    if (status.error().code == ErrorCode::kVanished) {
      if (!process.knows_own_labels()) process_labels_.note_gone();
      return;
    }
    ++counters_[status.error().code == ErrorCode::kTooManyFiles ? Counter::kPlansWithoutFiles
                                                                : Counter::kPlansFailed];
    // Its samples must not count as unlabelled: there may be labels, and we cannot find them.
    const ls_tls_recipe none{};
    if (!sampler_->set_process(process.pid(), std::span(&none, 1))) {
      ++counters_[Counter::kRecipesNotStored];
    }
    return;
  }
  find_server(process);
  note_plan(process.pid(), process.plan());
  Status status = sampler_->set_process(process.pid(), process.recipes(), process.plan().presets);
  if (status) return;
  if (status.error().code == ErrorCode::kVanished) {
    // Otherwise it has ended, or has executed another program meanwhile, which may be the one that
    // was read. Its on_exec() will plan again.
    if (!knew_labels && process.knows_own_labels() && kill(raw(process.pid()), 0) == 0) {
      process.forget_own_labels();
      process_labels_.note_gone();
    }
  } else {
    ++counters_[Counter::kRecipesNotStored];
  }
}

// The kernel's files know the first process of a server by its number alone.
void Recorder::find_server(TrackedProcess& process) const {
  const ProcessKey server = process.server();
  if (server.life == 0 && server.pid != process.pid())
    process.note_server(sampler_->key_of(server.pid));
}

std::unique_ptr<TrackedProcess> Recorder::track(ProcessKey key) {
  auto process = std::make_unique<TrackedProcess>(key, modules_, planner_, options_.variables);
  if (leaves_all_) process->leave_out();
  return process;
}

void Recorder::leave_out(Pid pid) {
  busy_.reset();
  left_out_.insert(pid);
  clocks_.end(pid);
  static_cast<void>(sampler_->remove_process(pid));
  if (const auto found = current_.find(pid); found != current_.end()) found->second->leave_out();
}

void Recorder::leave_all() {
  busy_.reset();
  modules_.leave_files();
  leaves_all_ = true;
  for (const auto& [key, process] : processes_) process->leave_out();
}

TrackedProcess* Recorder::find(ProcessKey key) {
  if (last_process_ != nullptr && last_process_->key() == key) return last_process_;
  auto found = processes_.find(key);
  if (found == processes_.end()) return nullptr;
  last_process_ = found->second.get();
  return last_process_;
}

// A thread that ends works in the kernel for a while, and only this is still sampled of its
// process: no address and no label of it need to be understood.
TrackedProcess* Recorder::find_gone(ProcessKey key) {
  const auto gone = gone_.find(key);
  if (gone == gone_.end() || !gone->second.is_known) return nullptr;
  auto process = track(key);
  process->become(gone->second.process, gone->second.publishes_nothing);
  process->row = row_of(gone->second, key.pid);
  return (processes_[key] = std::move(process)).get();
}

TrackedProcess& Recorder::process_of(ProcessKey key) {
  if (TrackedProcess* process = find(key)) return *process;
  if (TrackedProcess* process = find_gone(key)) return *process;
  TrackedProcess& process = keep(track(key));
  // It was sampled before it was left out, and is not to be read again.
  if (left_out_.contains(key.pid)) {
    process.leave_out();
    return process;
  }
  // The record of its fork or exec was lost. The BPF programs sample it all the same, so plan it as
  // a new process.
  clocks_.begin_unknown(key.pid);
  ++counters_[Counter::kForksNotSeen];
  const Status status = sampler_->set_sampled_process(key.pid);
  if (status) {
    plan_if_time(process);
  } else if (sampler_->key_of(key.pid).life == 0) {
    process.on_exit();  // or it was removed, and this sample is from before
  }
  return process;
}

void Recorder::on_label_set(ProcessKey key, std::uint64_t number,
                            std::span<const std::byte> label_bytes, bool of_blame) {
  const Busy busy(*this, key.pid);
  builder_.numbered().name(number, label_bytes, process_of(key), of_blame);
}

void Recorder::on_waits(std::span<const WaitTotal> waits, std::span<const BlameTotal> blame) {
  const Busy busy(*this, first_ == nullptr ? Pid{} : first_->pid());
  const auto find = [this](ProcessKey key) { return process_of_waits(key); };
  if (!options_.blame.empty()) builder_.add_blame(blame, find, true);
  builder_.add_totals(waits, find, true);
}

void Recorder::on_sample(const Sample& sample) {
  const Busy busy(*this, sample.process.pid);
  window_.note(sample.outcome);
  in_kernel_ |= !sample.stack.kernel.empty();
  const auto marked = std::ranges::count_if(sample.stack.user, [&](std::uint64_t word) {
    return sample.stack.frame(word).kind == LS_FRAME_CODE_BY_FP;
  });
  if (marked != 0) {
    ++counters_[Counter::kSamplesWithFpFrames];
    counters_[Counter::kFpFrames] += static_cast<std::uint64_t>(marked);
  }
  table_times_.note(sample.time_ns, sample.stack.end);
  TrackedProcess& process = process_of(sample.process);
  if (raw(sample.tid) == raw(sample.process.pid)) process.note_name(sample.comm);
  process.look_up_at(sample.time_ns);
  builder_.add(sample, process);
}

bool Recorder::is_calm() const {
  return !samples_waits_ && TrackedProcess::Clock::now() - last_event_ > kUntilCalm;
}

void Recorder::on_fork(Pid parent, ProcessKey key) {
  note_event();
  const Pid child = key.pid;
  joined_.erase(child);
  // The child was added, and planned, before its fork was reported.
  if (const TrackedProcess* added = find(key); added != nullptr && !added->ended()) {
    // The sampler counts its time from the fork on.
    if (started_) {
      clocks_.forget(child);
      clocks_.fork(child, false);
    }
    return;
  }
  const auto forked = current_.find(parent);
  const TrackedProcess* known = forked == current_.end() ? nullptr : forked->second;
  auto process = known != nullptr ? std::make_unique<TrackedProcess>(key, *known) : track(key);
  // It is planned for no other reason; and what it mapped before the start was reported to nobody.
  if (known == nullptr || !started_) process->read_mappings_later();
  if (known != nullptr && process_labels_.may_change_after_fork()) process->renew_own_labels();
  // It is sampled from its beginning, whatever had its number before. If it began before the start,
  // what it has run until then does not count.
  keep(std::move(process));
  clocks_.fork(child, !started_);
}

void Recorder::on_exec(ProcessKey key, std::string_view name) {
  note_event();
  const auto found = current_.find(key.pid);
  if (found == current_.end()) return;
  TrackedProcess* process = found->second;
  if (TrackedProcess* known = find(key)) {
    // It was added, or sampled, before its exec was reported; or it was taken for a former process
    // of this number, whose end was lost.
    if (known->ended() && !known->is_left_out()) known = &keep(track(key));
    if (known != process && !process->ended()) process->on_exit();
    process = found->second = known;
  } else {
    begin_life(*process, key, name);
  }
  process->on_exec();
  plan_if_time(*process);
}

// Lets a process go on under another key. What it was before stays as a summary.
void Recorder::begin_life(TrackedProcess& process, ProcessKey key, std::string_view name) {
  // The kernel sets the name a moment before it announces the exec.
  process.take_back_name(name);
  builder_.rename_first(process, name, process.comm());
  if (process.row != kNoIndex || samples_waits_) {
    note_gone(process);
    gone_.at(process.key()).goes_on = true;
  }
  auto entry = processes_.extract(process.key());
  entry.key() = key;
  processes_.insert(std::move(entry));
  process.begin_life(key, name);
  take_row(process);
}

void Recorder::on_last_name(ProcessKey key, std::string_view name) {
  if (TrackedProcess* process = find(key); process != nullptr && !process->ended()) {
    process->note_name(name);
  }
}

void Recorder::on_exit(Pid pid) {
  note_event();
  left_out_.erase(pid);  // the number is used again
  clocks_.end(pid);
  if (const auto found = current_.find(pid); found != current_.end()) found->second->on_exit();
}

void Recorder::on_thread_end(ProcessKey process, Tid tid, std::uint64_t thread_ns) {
  if (has_accounts_) builder_.accounts().end_thread(process, tid, thread_ns);
}

void Recorder::on_thread_time(ProcessKey process, Tid tid, std::uint64_t time_ns,
                              std::uint64_t thread_ns) {
  if (has_accounts_) builder_.accounts().advance_thread(process, tid, time_ns, thread_ns);
}

void Recorder::on_mapping(const MappingEvent& event) {
  const Busy busy(*this, event.pid);
  const auto found = current_.find(event.pid);
  if (found == current_.end()) return;
  Mapping mapping;
  mapping.start = event.start;
  mapping.end = event.start + event.length;
  mapping.file_offset = event.file_offset;
  mapping.executable = true;
  mapping.file = {event.device_major, event.device_minor, event.inode};
  if (mapping.file) {
    mapping.path = event.path;
    // Code that is made at run time comes all the time, with a memfd in some runtimes.
    if (!mapping.path.starts_with("/memfd:")) note_event();
  }
  found->second->on_mapping(mapping, event.time_ns);
}

void Recorder::on_mappings_lost(std::uint64_t since_ns) {
  note_event();
  for (auto& [key, process] : processes_) process->on_mappings_lost(since_ns);
}

void Recorder::show_locations(EarlyNames& names) const {
  names.look_at(builder_.locations(), modules_.modules(), modules_.module_files(),
                  modules_.file_states());
}

std::uint64_t Recorder::dropped() const { return sampler_->counters().dropped; }

Index Recorder::row_of(Gone& gone, Pid pid) {
  if (gone.row == kNoIndex) {
    gone.process.pid = pid;
    gone.row = builder_.enter(pid);
  }
  return gone.row;
}

Index Recorder::row_of(TrackedProcess& process) {
  if (process.row == kNoIndex) process.row = builder_.enter(process.pid());
  return process.row;
}

ProcessOfWaits Recorder::process_of_waits(ProcessKey key) {
  if (raw(key.pid) == 0) return {};
  const auto known = gone_.find(key);
  if (known == gone_.end()) {
    if (TrackedProcess* process = find(key)) {
      row_of(*process);
      return cli::process_of_waits(*process);
    }
  }
  // Of one that nobody has seen, the number is known.
  Gone& gone = known != gone_.end() ? known->second : gone_[key];
  ProcessOfWaits of = gone.waits;
  of.row = row_of(gone, key.pid);
  return of;
}

}  // namespace labelscope::cli
