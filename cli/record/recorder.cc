// Recorder: the handler of the sampler's events.
#include "cli/record/recorder.h"

#include <csignal>

namespace labelscope::cli {
namespace {

// For a process that has to be known to the sampler before it is planned, so that no exec between
// the plan and its use is missed.
constexpr ls_tls_recipe not_planned() {
  ls_tls_recipe recipe{};
  recipe.kind = LS_RECIPE_NOT_RELOCATED;
  return recipe;
}
constexpr ls_tls_recipe kNotPlanned = not_planned();

}  // namespace

Recorder::Recorder(std::unique_ptr<Sampler> sampler, bool keep_each_sample)
    : sampler_(std::move(sampler)), builder_(keep_each_sample) {}

Status Recorder::add(Pid pid) {
  auto process = std::make_unique<TrackedProcess>(pid, modules_);
  if (Status status = sampler_->set_process(pid, {&kNotPlanned, 1}); !status) return status;
  Status status = process->refresh();
  if (status) {
    status = sampler_->set_process(pid, process->recipes());
    // It executed another program meanwhile, and that event will have it planned again.
    if (!status && status.error().code == ErrorCode::kVanished && kill(raw(pid), 0) == 0) {
      status = {};
    }
  }
  if (!status) {
    static_cast<void>(sampler_->remove_process(pid));  // the first error is the one to tell
    return status;
  }
  processes_[pid] = std::move(process);
  return {};
}

Status Recorder::step(std::chrono::milliseconds timeout) {
  if (Status status = sampler_->drain(*this, timeout); !status) return status;
  auto now = TrackedProcess::Clock::now();
  for (auto& [pid, process] : processes_) {
    if (process->plan_due(now)) plan(*process);
  }
  return {};
}

Status Recorder::stop() { return sampler_->stop(*this); }

void Recorder::plan(TrackedProcess& process) {
  if (Status status = process.refresh(); !status) {
    // It ended between the event and now: what is known of it stays.
    if (status.error().code == ErrorCode::kVanished) return;
    ++counters_["processes that could not be looked at again"];
    // Unlabelled would be a lie: there may be labels, and they cannot be found.
    const ls_tls_recipe none{};
    if (!sampler_->set_process(process.pid(), std::span(&none, 1))) {
      ++counters_["processes whose recipes could not be stored"];
    }
    return;
  }
  Status status = sampler_->set_process(process.pid(), process.recipes());
  // kVanished: it executed another program meanwhile, and that event will have it planned again.
  if (!status && status.error().code != ErrorCode::kVanished) {
    ++counters_["processes whose recipes could not be stored"];
  }
}

TrackedProcess* Recorder::find(Pid pid) {
  if (last_process_ != nullptr && last_pid_ == pid) return last_process_;
  auto found = processes_.find(pid);
  if (found == processes_.end()) return nullptr;
  last_pid_ = pid;
  last_process_ = found->second.get();
  return last_process_;
}

void Recorder::on_sample(const RawSample& sample) {
  TrackedProcess* process = find(sample.pid);
  if (process == nullptr) {
    // Its FORK record was dropped: sampled all the same, planned as if it were new.
    auto [entry, fresh] = processes_.try_emplace(sample.pid);
    if (fresh) entry->second = std::make_unique<TrackedProcess>(sample.pid, modules_);
    process = entry->second.get();
    ++counters_["processes whose fork was not seen"];
    if (sampler_->set_process(sample.pid, {&kNotPlanned, 1})) plan(*process);
  }
  SampleView view;
  view.time_ns = sample.time_ns;
  view.pid = sample.pid;
  view.tid = sample.tid;
  view.comm = sample.comm;
  view.user_stack = sample.user_stack;
  view.kernel_stack = sample.kernel_stack;
  view.outcome = sample.outcome;
  view.flags = sample.flags;
  view.label_key = sample.label_key;
  view.decode_labels = sample.decode_labels;
  builder_.add(view, *process);
}

void Recorder::on_fork(Pid parent, Pid child) {
  TrackedProcess* known = find(parent);
  auto process = known != nullptr ? std::make_unique<TrackedProcess>(child, *known)
                                  : std::make_unique<TrackedProcess>(child, modules_);
  last_process_ = nullptr;
  processes_[child] = std::move(process);
}

void Recorder::on_exec(Pid pid) {
  if (TrackedProcess* process = find(pid)) process->on_exec();
}

void Recorder::on_exit(Pid pid) {
  if (TrackedProcess* process = find(pid)) process->on_exit();
}

void Recorder::on_mapping(const MappingEvent& event) {
  TrackedProcess* process = find(event.pid);
  if (process == nullptr) return;
  Mapping mapping;
  mapping.start = event.start;
  mapping.end = event.start + event.length;
  mapping.file_offset = event.file_offset;
  mapping.executable = true;
  mapping.file = {event.device_major, event.device_minor, event.inode};
  if (mapping.file) mapping.path = event.path;
  process->on_mapping(mapping);
}

void Recorder::on_mappings_lost() {
  for (auto& [pid, process] : processes_) process->on_mappings_lost();
}

std::uint64_t Recorder::dropped() const { return sampler_->counters().dropped; }

Profile Recorder::take_profile(std::vector<ModuleFile>& files) {
  Profile profile = builder_.take();
  Counters counters = sampler_->counters();
  Ledger& ledger = profile.ledger;
  ledger.taken = counters.taken;
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) ledger.outcomes[i] = counters.outcomes[i];
  ledger.dropped = counters.dropped;
  ledger.truncated = counters.truncated;
  ledger.written = builder_.samples();
  ledger.counters = std::move(counters.others);
  if (counters.pending != 0) ledger.counters["repeated reads still pending"] = counters.pending;
  ledger.counters.merge(counters_);
  for (const auto& [pid, process] : processes_) {
    profile.processes.push_back({pid, process->comm(), process->publisher_paths()});
  }
  files = modules_.take_files();
  profile.modules = modules_.take_modules();
  profile.event = std::string(sampler_->event_name());
  return profile;
}

}  // namespace labelscope::cli
