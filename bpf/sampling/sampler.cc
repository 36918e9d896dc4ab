// How the sampler begins and ends (loaded_sampler.h).
#include "bpf/sampling/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "base/clock.h"
#include "bpf/sampling/loaded_sampler.h"
#include "bpf/wire/ledger.h"
#include "labelscope/unique_fd.h"

namespace labelscope {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// stop() waits this long for repeated reads. A page from a slow disk takes 10 ms. A thread that
// sleeps in the kernel may never read again.
constexpr milliseconds kSettleTime{200};
constexpr milliseconds kSettleStep{5};

// The CPU time of threads is read when sampling begins, and when it ends.
constexpr unsigned kThreadTimesReads = 2;

// Lets waits there end by these events of a descriptor. If that fails, errno has the reason.
bool add(const UniqueFd& epoll, int fd, std::uint32_t events) {
  epoll_event interest{};
  interest.events = events;
  interest.data.fd = fd;
  return epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &interest) == 0;
}

}  // namespace

Result<std::unique_ptr<BpfSampler>> LoadedSampler::open(const SamplerOptions& options) {
  auto sampler = std::make_unique<LoadedSampler>(options.first_processes);
  // Mappings are reported before anybody looks at a process.
  auto events = MappingEvents::open(options);
  if (events) sampler->looks_.begin();
  auto object = BpfObject::load(options);
  sampler->looks_.settle();
  if (!object) return std::move(object).error();
  if (!events) return std::move(events).error();
  sampler->events_.emplace(*std::move(events));
  sampler->object_ = *std::move(object);
  sampler->processes_.emplace(*sampler->object_);
  // Without it the times are read from /proc.
  static_cast<void>(sampler->thread_times_.open(sampler->object_->object(), kThreadTimesReads));
  auto tables = StackTables::open(
      options, sampler->object_->object(),
      [object = sampler->object_.get()](Pid pid) -> std::optional<std::uint32_t> {
        auto life = object->life(pid);
        return life ? std::optional(*life) : std::nullopt;
      },
      sampler->object_->take_first_parts());
  if (!tables) return std::move(tables).error();
  sampler->tables_ = *std::move(tables);
  if (Status status = sampler->open_sources(options); !status) return std::move(status).error();

  sampler->reports_.emplace(*sampler->events_, sampler->looks_, *sampler->processes_,
                            *sampler->tables_);
  sampler->reports_->take_early();
  sampler->tables_wait_ = options.tables_wait;
  sampler->ring_bytes_ = options.ring_bytes;
  if (Status status = sampler->open_waits(); !status) return std::move(status).error();
  return std::unique_ptr<BpfSampler>(std::move(sampler));
}

Status LoadedSampler::open_sources(const SamplerOptions& options) {
  if (samples_running(options.mode)) {
    auto timed = TimedEvents::open(options, *events_, object_->program_fd());
    if (!timed) return std::move(timed).error();
    sources_.push_back(&timed_.emplace(*std::move(timed)));
  }
  if (samples_waits(options.mode)) sources_.push_back(&waits_.emplace(*object_, options));
  for (const EventSource* source : sources_) {
    event_name_ += (event_name_.empty() ? "" : " and ") + std::string(source->name());
  }
  return {};
}

std::vector<std::string> LoadedSampler::remarks() const {
  std::vector<std::string> all;
  for (const EventSource* source : sources_) std::ranges::copy(source->remarks(), std::back_inserter(all));
  return all;
}

// Maps the ring buffer, and chooses what ends a wait.
Status LoadedSampler::open_waits() {
  ring_ = ring_buffer__new(object_->ring_fd(), &LoadedSampler::on_record, this, nullptr);
  if (!ring_) return system_error(errno, "cannot map the ring buffer");
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  // The wait is edge-triggered. A level-triggered wait would return as soon as there is one sample.
  if (!epoll_.valid() || !add(epoll_, object_->ring_fd(), EPOLLIN | EPOLLET)) {
    return system_error(errno, "cannot wait for the ring buffer");
  }
  const int ready = tables_->ready_fd();
  if (ready >= 0 && !add(epoll_, ready, EPOLLIN)) {
    return system_error(errno, "cannot wait for unwind tables");
  }
  return reports_->add_to(epoll_.get());
}

Status LoadedSampler::wake_on(int fd) {
  if (add(epoll_, fd, EPOLLIN | EPOLLET)) return {};
  return system_error(errno, "cannot wait for signals");
}

LoadedSampler::~LoadedSampler() { ring_buffer__free(ring_); }

Status LoadedSampler::start() {
  tables_->wait(tables_wait_);
  if (reports_->take_early()) tables_->wait(tables_wait_);
  begin_clocks();
  // Events interrupt whatever runs on a processor, so they come last, and end first.
  for (EventSource* source : std::views::reverse(sources_)) {
    if (Status status = source->enable(); !status) return status;
  }
  looks_.forget();
  return {};
}

// The kernel says which processes there are. processes_ does not know those that were forked since
// load(), or since the ring was read: their records are still in it.
void LoadedSampler::begin_clocks() {
  const auto all = thread_times_.read();
  if (all) {
    for (const auto& [pid, times] : *all) clocks_.begin(pid, times);
  } else {
    for (const Pid pid : object_->pids()) clocks_.begin(pid);
  }
  // The time of threads that end now is all from before, also if they still work in their end, or
  // are not waited for: their processes may be no longer known.
  for (const ls_ending& ending : object_->endings()) {
    const ThreadTime time{static_cast<Tid>(ending.tid), ending.thread_ns, ending.identity};
    clocks_.begin(static_cast<Pid>(ending.pid), {&time, 1});
  }
  began_ns_ = monotonic_ns();
  if (waits_ && all) waits_->begin(*all, began_ns_);
}

void LoadedSampler::freeze_clocks() {
  const auto all = thread_times_.read();
  const std::uint64_t now_ns = monotonic_ns();
  ended_ns_ = now_ns;
  if (!all) {
    for (const Pid pid : object_->pids()) clocks_.freeze(pid);
    return;
  }
  for (const auto& [pid, times] : *all) {
    clocks_.freeze(pid, times);
    if (waits_) waits_->freeze(key_of(pid), times, now_ns);
  }
}

// Times are read when the records are taken that there are, and handed out before any other but
// those that come until then. So a thread whose end comes later has not ended yet for the handler.
// Threads that work in their end, or that nobody has waited for, are in no list of threads, but in
// `endings`: their records come when the kernel frees them, and the clocks of their processes have
// their time already.
Status LoadedSampler::cut(EventHandler& handler) {
  const auto consume_most = [&]() -> Status {
    // Records may come as fast as they are taken.
    constexpr int kMostRounds = 2;
    for (int round = 0; round < kMostRounds; ++round) {
      if (Status status = consume(handler); !status) return status;
      if (!more_) break;
    }
    return {};
  };
  if (Status status = consume_most(); !status) return status;
  if (waits_) {
    if (Status status = waits_->begin_cut(); !status) return status;
    // Processes that have waits in this window are known then.
    if (Status status = consume_most(); !status) return status;
  }
  for (const ls_ending& ending : object_->take_unsent_ends()) {
    ThreadEndRecord end;
    end.process = {static_cast<Pid>(ending.pid), ending.life};
    end.tid = static_cast<Tid>(ending.tid);
    end.identity = ending.identity;
    end.thread_ns = ending.thread_ns;
    end.time_ns = ending.time_ns;
    take_thread_end(end);
  }
  auto all = thread_times_.read_once_more();
  if (!all) {
    all.emplace();
    for (const Pid pid : object_->pids()) {
      if (auto times = read_thread_times(pid)) all->emplace(pid, *std::move(times));
    }
  }
  const std::vector<ls_ending> endings = object_->endings();
  const std::uint64_t now_ns = monotonic_ns();
  // A thread that was freed between the last record and the reading of times is in neither list,
  // and the clock of its process has its time already: its record belongs to this window. Waits of
  // this window end at another moment, and records behind that are kept.
  ChangedThreads changed;
  if (!waits_) {
    changed_ = &changed;
    Status status = consume_most();
    changed_ = nullptr;
    if (!status) return status;
  }
  const auto advance = [&](ProcessKey process, const ThreadTime& thread) {
    // It has another number, or none, since its time was read.
    if (changed.executed.contains(process.pid)) return;
    if (changed.ended.contains({thread.tid, thread.identity})) return;
    // A record that says whose number it is now is still to come.
    if (clocks_.is_of_other(process.pid, thread.tid, thread.identity)) return;
    const auto time = clocks_.at(process.pid, thread.tid, thread.identity, thread.ran_ns);
    handler.on_thread_time(process, time.tid, now_ns, time.ran_ns);
  };
  for (const auto& [pid, times] : *all) {
    if (!processes_->contains(pid)) continue;  // its fork is still to come
    for (const ThreadTime& thread : times) advance(key_of(pid), thread);
  }
  for (const ls_ending& ending : endings) {
    const ProcessKey process{static_cast<Pid>(ending.pid), ending.life};
    const auto tid = static_cast<Tid>(ending.tid);
    if (!is_of_recording(process.pid, tid, ending.identity, ending.time_ns)) continue;
    advance(process, {tid, ending.thread_ns, ending.identity});
  }
  return waits_ ? cut_waits(handler, *all) : Status();
}

// The window's waits are complete some time behind the cut. What comes until then is kept for the
// next window.
Status LoadedSampler::cut_waits(EventHandler& handler, const ThreadTimes::ByProcess& times) {
  waits_->look_at_cut();
  Status kept = keep_for_later();
  Status ended = waits_->end_cut(handler, times, [this](Pid pid) { return key_of(pid); });
  return kept ? ended : kept;
}

Status LoadedSampler::stop(EventHandler& handler) {
  if (final_) return {};
  for (EventSource* source : sources_) {
    if (Status status = source->disable(); !status) return status;
  }
  freeze_clocks();
  do {
    if (Status status = consume(handler); !status) return status;
  } while (more_);
  if (Status status = settle(handler); !status) return status;
  if (waits_) waits_->take(handler);
  object_->detach();
  events_->end();
  // Threads have ended since the last look.
  do {
    if (Status status = consume(handler); !status) return status;
  } while (more_);
  held_.give_up([this](const SampleRecord& sample) { hand_out(sample); });
  for (const ls_ending& ending : object_->unsent_ends()) take_ending(ending);
  for (const ls_ending& ending : object_->endings()) take_ending(ending);
  for (const ThreadClocks::Time& ended : clocks_.take_frozen()) {
    hand_out(ended, key_of(ended.pid).life);
  }
  return {};
}

// Before sampling began a thread has run for no recording. Neither has one that began behind the
// end.
bool LoadedSampler::is_of_recording(Pid pid, Tid tid, std::uint32_t identity,
                                    std::uint64_t ended_ns) const {
  if (ended_ns < began_ns_) return false;
  return ended_ns_ == 0 || ended_ns < ended_ns_ || clocks_.is_frozen(pid, tid, identity);
}

void LoadedSampler::take_ending(const ls_ending& ending) {
  const auto pid = static_cast<Pid>(ending.pid);
  const auto tid = static_cast<Tid>(ending.tid);
  if (!is_of_recording(pid, tid, ending.identity, ending.time_ns)) return;
  hand_out(clocks_.end(pid, tid, ending.identity, ending.thread_ns), ending.life);
}

// Waits for repeated reads, and gives up on those that do not come. Then takes the final counters,
// at a moment when every answer that they count has been read.
Status LoadedSampler::settle(EventHandler& handler) {
  const auto deadline = steady_clock::now() + kSettleTime;
  while ((held_.size() != 0 || (waits_ && waits_->is_sampling())) &&
         steady_clock::now() < deadline) {
    if (Status status = drain(handler, kSettleStep); !status) return status;
  }
  object_->cancel_retries();
  const auto last = steady_clock::now() + kSettleTime;
  for (;;) {
    auto counts = object_->counters();
    if (!counts) return std::move(counts).error();
    if (Status status = drain(handler, milliseconds(0)); !status) return status;
    bool complete = counts->value[LS_COUNT_RETRY_SENT] == answers_ && adds_up(*counts);
    if (complete || steady_clock::now() >= last) {
      final_ = *counts;
      return {};
    }
  }
}

Counters LoadedSampler::counters() const {
  ls_counters counts{};
  if (final_) {
    counts = *final_;
  } else if (auto now = object_->counters()) {
    counts = *now;
  }
  Counters result = make_ledger(counts);
  for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) {
    result.outcomes[i] -= unheld_answers_[i];
    result.outcomes[LS_UNREADABLE_VANISHED] += unheld_answers_[i];
  }
  if (final_) result.outcomes[LS_UNREADABLE_VANISHED] += std::exchange(result.pending, 0);
  Counts& others = result.others;
  others[Counter::kRecordsMalformed] = own_.malformed_records;
  others[Counter::kSamplesNotHeld] = own_.samples_not_held;
  others[Counter::kProcessEventsRecovered] = own_.events_recovered;
  reports_->add_counts(others);
  for (const EventSource* source : sources_) source->add_counts(result);
  others[Counter::kFirstThreadsNotStopped] = processes_->first_threads_refused();
  tables_->add_counts(others);
  return result;
}

Result<std::unique_ptr<BpfSampler>> BpfSampler::open(const SamplerOptions& options) {
  return LoadedSampler::open(options);
}

Result<ProgramStatistics> program_statistics(int program_fd) {
  bpf_prog_info information{};
  std::uint32_t size = sizeof(information);
  if (bpf_obj_get_info_by_fd(program_fd, &information, &size) != 0) {
    return system_error(errno, "cannot ask about a BPF program");
  }
  return ProgramStatistics{information.run_time_ns, information.run_cnt};
}

}  // namespace labelscope
