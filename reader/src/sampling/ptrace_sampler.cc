// PtraceSampler decides when to sample, and notices what processes do. (thread_sampler.h takes the
// samples.)
#include "sampling/ptrace_sampler.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "labelscope/stopped_thread.h"
#include "process/child_processes.h"
#include "ptrace/holding.h"
#include "sampling/sampled_process.h"
#include "sampling/thread_sampler.h"

namespace labelscope {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Clock = StoppedThread::Clock;  // CLOCK_MONOTONIC on Linux, as Sample::time_ns

constexpr milliseconds kPollInterval{100};
// How often the sampler looks for threads that have stopped too late, to let them go.
constexpr std::chrono::microseconds kSettleInterval{200};
constexpr milliseconds kLongestSettling{200};

// Sleeps until that time. Returns false if the sleep has ended before that: by a signal, or because
// `wakes` can be read.
bool sleep_until(Clock::time_point time, int wakes = -1) {
  const auto left = std::chrono::duration_cast<nanoseconds>(time - Clock::now());
  if (left.count() <= 0) return true;
  timespec rest{};
  rest.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  rest.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  pollfd waker{wakes, POLLIN, 0};
  return ::ppoll(&waker, 1, &rest, nullptr) == 0;
}

// Stops one thread, to see whether the kernel allows it. If that thread does not stop in time, this
// is no error: it waits for a processor, for a disk, or for the child of a vfork(), and other
// threads may stop.
Status try_to_stop(Pid pid) {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    auto process = LiveProcess::open(pid);
    if (!process) return std::move(process).error();
    const Holding holding;
    auto stopped = StoppedThread::stop((*process)->seen_through());
    if (stopped || stopped.error().code == ErrorCode::kLimit) return {};
    if (stopped.error().code != ErrorCode::kVanished || attempt == kAttempts) {
      return std::move(stopped).error();
    }
  }
}

struct Events {
  std::uint64_t ticks = 0;
  std::uint64_t ticks_skipped = 0;
  std::uint64_t children_not_followed = 0;   // because there are max_processes already
  std::uint64_t children_refused = 0;        // because they may not be looked at
  std::uint64_t children_without_files = 0;  // because too many are open
  std::uint64_t mappings_not_read = 0;
  std::uint64_t without_times = 0;  // ThreadList::without_times() of processes that have ended
};

class PtraceSampler final : public Sampler {
 public:
  explicit PtraceSampler(const PtraceSamplerOptions& options)
      : options_(options), period_(1'000'000'000 / options.frequency_hz), threads_(options) {}

  Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes,
                     const PresetPlans& presets) override;
  Status set_running_process(Pid pid) override;
  Status remove_process(Pid pid) override;
  ProcessKey key_of(Pid pid) const override {
    const auto known = processes_.find(pid);
    return known == processes_.end() ? ProcessKey{pid} : known->second->key();
  }
  Status start() override;
  Status wake_on(int fd) override {
    wakes_ = fd;
    return {};
  }
  Status drain(EventHandler& handler, milliseconds timeout) override;
  Status cut(EventHandler& handler) override;
  Status stop(EventHandler& handler) override;
  Counters counters() const override;
  std::string refusal() const override { return threads_.refusal(); }
  std::string_view event_name() const override {
    return options_.kind() == LS_WHOLE_TIME ? "wall-clock" : "cpu-time";
  }
  std::uint64_t current_stop() const override { return threads_.current_stop(); }

 private:
  nanoseconds draw_period();
  bool is_called() const;
  void tick(EventHandler& handler);
  void sample_threads(SampledProcess& process, EventHandler& handler);
  void poll(EventHandler& handler);
  // Adds the present child processes to `children`.
  void poll_children(SampledProcess& parent, EventHandler& handler, std::set<Pid>& children);
  void poll_mappings(SampledProcess& process, EventHandler& handler);
  void notice_program(SampledProcess& process, EventHandler& handler);
  void forget(Pid pid, EventHandler& handler);
  void hand_out(ProcessKey process, const std::vector<ThreadList::Ended>& threads,
                EventHandler& handler) const;
  std::uint64_t time_of(const ThreadList::Ended& thread) const;
  std::vector<Pid> pids() const;

  PtraceSamplerOptions options_;
  nanoseconds period_;
  bool started_ = false;
  std::minstd_rand random_{std::random_device{}()};
  Clock::time_point next_tick_{};
  int wakes_ = -1;  // as wake_on() says
  Clock::time_point next_poll_{};
  std::map<Pid, std::unique_ptr<SampledProcess>> processes_;
  std::uint32_t lives_ = 0;     // so many have begun (ProcessKey)
  std::set<Pid> not_followed_;  // children that are counted as not followed
  ThreadSampler threads_;
  Events events_;
};

// ---- processes

Status PtraceSampler::set_process(Pid pid, std::span<const ls_tls_recipe> recipes,
                                  const PresetPlans& presets) {
  if (recipes.size() > LS_MAX_PUBLISHERS) {
    return Error{ErrorCode::kLimit, "a process can have " + std::to_string(LS_MAX_PUBLISHERS) +
                                        " publishers of labels, not " +
                                        std::to_string(recipes.size())};
  }
  auto known = processes_.find(pid);
  if (known != processes_.end()) {
    if (!known->second->runs_its_program()) {
      return Error{ErrorCode::kVanished, "process " + std::to_string(raw(pid)) +
                                             " has ended or executed another program meanwhile"};
    }
    known->second->set_recipes(recipes, presets);
    return {};
  }
  if (processes_.size() >= options_.max_processes) {
    return Error{ErrorCode::kLimit,
                 "more than " + std::to_string(options_.max_processes) + " processes"};
  }
  // This finds out now whether its threads may be stopped, and not when sampling has begun.
  if (Status status = try_to_stop(pid); !status) return status;
  const SampledProcess* other = processes_.empty() ? nullptr : processes_.begin()->second.get();
  auto process = SampledProcess::open(pid, options_, nullptr, other);
  if (!process) return std::move(process).error();
  (*process)->set_recipes(recipes, presets);
  (*process)->begin_life(++lives_);
  processes_[pid] = *std::move(process);
  return {};
}

Status PtraceSampler::set_running_process(Pid pid) {
  Status status = set_process(pid, {&kNotPlanned, 1}, {});
  if (status) processes_[pid]->threads().start_over();
  return status;
}

Status PtraceSampler::remove_process(Pid pid) {
  auto known = processes_.find(pid);
  if (known == processes_.end()) return {};
  events_.without_times += known->second->threads().without_times();
  processes_.erase(known);
  return {};
}

void PtraceSampler::hand_out(ProcessKey process, const std::vector<ThreadList::Ended>& threads,
                             EventHandler& handler) const {
  for (const ThreadList::Ended& thread : threads) {
    handler.on_thread_end(process, thread.tid, time_of(thread));
  }
}

std::uint64_t PtraceSampler::time_of(const ThreadList::Ended& thread) const {
  const nanoseconds time = options_.kind() == LS_WHOLE_TIME ? thread.lived : thread.ran;
  return static_cast<std::uint64_t>(time.count());
}

void PtraceSampler::forget(Pid pid, EventHandler& handler) {
  SampledProcess& process = *processes_.at(pid);
  hand_out(process.key(), process.threads().end_all(), handler);
  static_cast<void>(remove_process(pid));
  handler.on_exit(pid);
}

// This is a copy, because handlers may add processes while a loop goes through these.
std::vector<Pid> PtraceSampler::pids() const {
  std::vector<Pid> pids;
  pids.reserve(processes_.size());
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  return pids;
}

// ---- time

Status PtraceSampler::start() {
  for (auto& [pid, process] : processes_) process->threads().start_over();
  started_ = true;
  next_tick_ = Clock::now() + draw_period();
  next_poll_ = Clock::now() + kPollInterval;
  return {};
}

Status PtraceSampler::drain(EventHandler& handler, milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  for (;;) {
    if (started_ && Clock::now() >= next_tick_) tick(handler);
    if (Clock::now() >= next_poll_) poll(handler);
    const bool awaited = threads_.settle();
    if (Clock::now() >= end) return {};
    auto wake = std::min(end, next_poll_);
    if (awaited) wake = std::min<Clock::time_point>(wake, Clock::now() + kSettleInterval);
    if (started_) wake = std::min(wake, next_tick_);
    if (!sleep_until(wake, wakes_)) return {};
  }
}

// Returns half to one and a half periods, at random. Otherwise work with nearly the sampler's
// period would be sampled at the same moments again and again.
nanoseconds PtraceSampler::draw_period() {
  return nanoseconds(std::uniform_int_distribution<nanoseconds::rep>(
      period_.count() / 2, period_.count() + period_.count() / 2)(random_));
}

// Whether there is something else to do: what wake_on() has named can be read.
bool PtraceSampler::is_called() const {
  pollfd waker{wakes_, POLLIN, 0};
  return wakes_ >= 0 && ::poll(&waker, 1, 0) > 0;
}

// Where hundreds of threads wait for a processor, all of them take half a minute to stop. Whoever
// wants the recording to end does not wait for that.
void PtraceSampler::tick(EventHandler& handler) {
  // Missed ticks are skipped. Samples for them would all show this same moment.
  const auto now = Clock::now();
  events_.ticks_skipped += static_cast<std::uint64_t>((now - next_tick_) / period_);
  next_tick_ = std::max(next_tick_, now - period_ / 2) + draw_period();
  ++events_.ticks;
  for (Pid pid : pids()) {
    auto process = processes_.find(pid);
    if (process == processes_.end()) continue;
    if (is_called()) return;
    const bool there = process->second->threads().refresh();
    hand_out(process->second->key(), process->second->threads().take_ended(), handler);
    if (there) {
      sample_threads(*process->second, handler);
    } else {
      forget(pid, handler);
    }
  }
}

void PtraceSampler::sample_threads(SampledProcess& process, EventHandler& handler) {
  ThreadList& list = process.threads();
  for (auto& [tid, thread] : list.threads()) {
    if (thread.ended) continue;
    if (is_called()) return;
    if (options_.kind() == LS_ON_CPU && !list.runs_and_is_due(thread)) continue;
    list.refresh_name(thread);
    auto found = threads_.sample(process, thread, handler);
    if (found == ThreadSampler::Attempt::kOtherProgram) {
      notice_program(process, handler);
      found = threads_.sample(process, thread, handler);  // with the new program's plan
    }
    while (found == ThreadSampler::Attempt::kNoTable) {
      process.unwinder()->make_tables(process.process());
      found = threads_.sample(process, thread, handler);
    }
    if (found == ThreadSampler::Attempt::kWaiting ||
        found == ThreadSampler::Attempt::kOtherProgram) {
      list.give_back(thread);
    }
  }
}

Status PtraceSampler::cut(EventHandler& handler) {
  poll(handler);
  for (Pid pid : pids()) {
    SampledProcess& process = *processes_.at(pid);
    if (!process.threads().refresh()) continue;  // the next tick reports its end
    hand_out(process.key(), process.threads().take_ended(), handler);
  }
  // A number that has ended in one process may be in another one already.
  for (const auto& [pid, entry] : processes_) {
    SampledProcess& process = *entry;
    const std::uint64_t now_ns = monotonic_ns();
    for (const ThreadList::Ended& thread : process.threads().times()) {
      handler.on_thread_time(process.key(), thread.tid, now_ns, time_of(thread));
    }
  }
  return {};
}

Status PtraceSampler::stop(EventHandler& handler) {
  if (!started_) return {};
  started_ = false;
  poll(handler);
  for (auto& [pid, process] : processes_) {
    hand_out(process->key(), process->threads().end_all(), handler);
  }
  // A thread that has not stopped by then is let go when labelscope's thread ends.
  const auto end = Clock::now() + kLongestSettling;
  while (threads_.settle() && Clock::now() < end) {
    sleep_until(Clock::now() + kSettleInterval);
  }
  threads_.rest();
  return {};
}

// ---- what processes do

void PtraceSampler::poll(EventHandler& handler) {
  next_poll_ = Clock::now() + kPollInterval;
  std::set<Pid> children;
  for (Pid pid : pids()) {
    auto found = processes_.find(pid);
    if (found == processes_.end()) continue;
    SampledProcess& process = *found->second;
    if (!process.exists()) {
      forget(pid, handler);
      continue;
    }
    if (!process.runs_its_program()) notice_program(process, handler);
    poll_mappings(process, handler);
    if (options_.follow_children) poll_children(process, handler, children);
  }
  // Another process may get the number of a process that is gone.
  std::erase_if(not_followed_, [&](Pid pid) { return !children.contains(pid); });
}

void PtraceSampler::notice_program(SampledProcess& process, EventHandler& handler) {
  if (!process.adopt_program()) return;
  process.begin_life(++lives_);
  handler.on_exec(process.key(), {});
}

void PtraceSampler::poll_mappings(SampledProcess& process, EventHandler& handler) {
  const bool read = process.poll_mappings([&](const Mapping& mapping) {
    MappingEvent event;
    event.pid = process.pid();
    event.start = mapping.start;
    event.length = mapping.end - mapping.start;
    event.file_offset = mapping.file_offset;
    event.device_major = mapping.file.major;
    event.device_minor = mapping.file.minor;
    event.inode = mapping.file.inode;
    event.path = mapping.file ? std::string_view(mapping.path) : std::string_view("//anon");
    handler.on_mapping(event);
  });
  if (!read && process.exists()) {
    ++events_.mappings_not_read;
    handler.on_mappings_lost(0);
  }
}

void PtraceSampler::poll_children(SampledProcess& parent, EventHandler& handler,
                                  std::set<Pid>& children) {
  for (Pid pid : child_processes(parent.process())) {
    children.insert(pid);
    if (processes_.contains(pid) || not_followed_.contains(pid)) continue;
    Error problem{ErrorCode::kLimit, {}};
    if (processes_.size() < options_.max_processes) {
      auto child = SampledProcess::open(pid, options_, &parent, &parent);
      if (child) {
        SampledProcess& added = *(processes_[pid] = *std::move(child));
        added.begin_life(++lives_);
        handler.on_fork(parent.pid(), added.key());
        if (!added.runs_same_program(parent)) {
          added.begin_life(++lives_);
          handler.on_exec(added.key(), {});
        }
        poll_mappings(added, handler);
        continue;
      }
      problem = std::move(child).error();
    }
    // the process has ended; mostly it is a zombie
    if (problem.code == ErrorCode::kVanished) continue;
    not_followed_.insert(pid);
    ++(problem.code == ErrorCode::kLimit          ? events_.children_not_followed
       : problem.code == ErrorCode::kTooManyFiles ? events_.children_without_files
                                                  : events_.children_refused);
  }
}

Counters PtraceSampler::counters() const {
  Counters counters = threads_.counters();
  Counts& others = counters.others;
  others[Counter::kTicks] = events_.ticks;
  others[Counter::kTicksSkipped] = events_.ticks_skipped;
  others[Counter::kChildrenNotFollowed] = events_.children_not_followed;
  others[Counter::kChildrenRefused] = events_.children_refused;
  others[Counter::kChildrenWithoutFiles] = events_.children_without_files;
  others[Counter::kMappingsNotRead] = events_.mappings_not_read;
  std::uint64_t without_times = events_.without_times;
  for (const auto& [pid, process] : processes_) without_times += process->threads().without_times();
  if (options_.kind() == LS_ON_CPU) others[Counter::kThreadsWithoutCpuTime] = without_times;
  return counters;
}

}  // namespace

Result<std::unique_ptr<Sampler>> open_ptrace_sampler(const PtraceSamplerOptions& options) {
  if (options.frequency_hz == 0 || options.frequency_hz > 1'000'000) {
    return Error{ErrorCode::kLimit, "a frequency of 1 to 1,000,000 Hz is wanted"};
  }
  return std::unique_ptr<Sampler>(std::make_unique<PtraceSampler>(options));
}

}  // namespace labelscope
