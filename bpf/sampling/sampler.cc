// This is the sampler's half in user space:
//
//   ring buffer --> records.h --+-- SAMPLE, complete ----------------------> handler
//                               +-- SAMPLE with a retry_id --> HeldSamples
//                               +-- LABELS (its answer) -----> HeldSamples --> handler
//                               +-- FORK, EXEC, EXIT --------> ProcessTable -> handler, tables
//                               +-- THREAD_END --------------> ThreadClocks -> handler
//                               +-- THREAD_WAITS ------------> SampledWaits
//                               +-- LABEL_SET ---------------------------> handler
//
//   rings of the perf events --> perf_ring.h --- mappings -------------------> handler, tables
//
// The tables are those of a way to take stacks (stack_tables.h).
#include "bpf/sampling/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/sampling/held_samples.h"
#include "bpf/sampling/perf_events.h"
#include "bpf/sampling/process_table.h"
#include "bpf/sampling/sampled_waits.h"
#include "bpf/sampling/thread_clocks.h"
#include "bpf/sampling/thread_times.h"
#include "bpf/sampling/wakeup_budget.h"
#include "bpf/unwind/stack_tables.h"
#include "bpf/wire/ledger.h"
#include "bpf/wire/records.h"
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

// Counters that only user space keeps.
struct OwnCounts {
  std::uint64_t malformed_records = 0;
  std::uint64_t samples_not_held = 0;
  std::uint64_t events_recovered = 0;
};

class LoadedSampler final : public BpfSampler {
 public:
  static Result<std::unique_ptr<BpfSampler>> open(const SamplerOptions& options);
  ~LoadedSampler() override { ring_buffer__free(ring_); }

  Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes) override {
    Status status = processes_->set(pid, recipes);
    if (status) tables_->set(pid);
    return status;
  }
  Status set_running_process(Pid pid) override {
    clocks_.begin(pid);  // before it is sampled: each sample's time is later
    Status status = set_process(pid, {&kNotPlanned, 1});
    if (status && waits_) status = waits_->begin(pid);
    return status;
  }
  Status set_before_exec(Pid pid, UniqueFd program) override {
    tables_->expect(std::move(program));
    return processes_->set(pid, {}, true);
  }
  Status remove_process(Pid pid) override {
    tables_->forget(pid);
    return processes_->remove(pid);
  }
  Status start() override;
  Status drain(EventHandler& handler, milliseconds timeout) override;
  Status stop(EventHandler& handler) override;
  Counters counters() const override;
  std::string_view event_name() const override { return events_->name(); }
  std::vector<WaitTotal> wait_totals() const override {
    return waits_ ? waits_->totals() : std::vector<WaitTotal>{};
  }
  std::vector<BlameTotal> blame_totals() const override {
    return waits_ ? waits_->blame() : std::vector<BlameTotal>{};
  }
  ThreadLedgers thread_ledgers() const override {
    return waits_ ? waits_->ledgers() : ThreadLedgers{};
  }
  bool retries() const override { return object_->retries(); }
  std::string_view retry_problem() const override { return object_->retry_problem(); }
  bool retries_refused() const override { return object_->retries_refused(); }
  int program_fd() const override { return object_->program_fd(); }

 private:
  static int on_record(void* self, void* data, std::size_t size);
  void take(std::span<const std::byte> bytes);
  void take_sample(const SampleRecord& sample, std::span<const std::byte> bytes);
  void take_answer(const AnswerRecord& answer);
  void take_process(const ProcessRecord& event);
  void hand_out(const EndedThread& ended);
  void hand_out(const SampleRecord& sample);
  Status wait(milliseconds timeout);
  Status consume(EventHandler& handler);
  Status look_at_counters();
  Status settle(EventHandler& handler);
  bool take_early_mappings();
  void begin_clocks();
  void freeze_clocks();

  std::unique_ptr<BpfObject> object_;
  std::optional<PerfEvents> events_;
  UniqueFd epoll_;
  WakeupBudget mapping_wakeups_;
  bool mappings_wake_ = false;  // the next mapping ends the wait
  ring_buffer* ring_ = nullptr;
  std::size_t ring_bytes_ = 0;
  milliseconds tables_wait_{};

  EventHandler* handler_ = nullptr;  // set during drain() and stop()
  ThreadClocks clocks_;
  ThreadTimes thread_times_;
  std::uint64_t began_ns_ = 0;  // when the clocks had begun
  std::optional<ProcessTable> processes_;
  std::unique_ptr<StackTables> tables_;
  std::optional<SampledWaits> waits_;  // if the mode samples them
  HeldSamples held_;
  std::vector<std::byte> label_bytes_;
  std::size_t taken_bytes_ = 0;  // bytes that the current consume() has taken
  bool more_ = false;            // the last consume() ended before the ring was empty
  std::uint64_t answers_ = 0;
  // This counts, by outcome, the answers whose samples were not held because there was no room.
  // These samples went out as vanished, so the counters move them from the outcome that the kernel
  // has counted to "vanished".
  std::array<std::uint64_t, LS_OUTCOME_COUNT> unheld_answers_{};
  std::uint64_t lost_events_ = 0;
  OwnCounts own_;
  PerfRing::Handler mappings_;
  std::shared_ptr<FirstLooks> looks_;  // until sampling begins; null if there are none
  // What was mapped before sampling began. Tables know it, and the handler of the first consume()
  // does not.
  struct EarlyMapping {
    MappingEvent event;
    std::string path;
  };
  std::vector<EarlyMapping> early_mappings_;
  std::optional<ls_counters> final_;
};

Result<std::unique_ptr<BpfSampler>> LoadedSampler::open(const SamplerOptions& options) {
  auto sampler = std::make_unique<LoadedSampler>();
  // Mappings are reported before anybody looks at a process.
  auto events = PerfEvents::open(options);
  sampler->looks_ = options.first_looks;
  FirstLooks* const looks = options.first_looks.get();
  if (looks != nullptr && events) looks->begin();
  auto object = BpfObject::load(options);
  if (looks != nullptr) looks->settle();
  if (!object) return std::move(object).error();
  if (!events) return std::move(events).error();
  sampler->events_.emplace(*std::move(events));
  if (looks != nullptr) {
    PerfRing::Handler since;
    since.on_mapping = [&](const MappingEvent& event) { looks->forget(event.pid); };
    sampler->events_->drain(since);
    if (since.was_full || since.lost + since.malformed != 0) looks->forget();
  }
  sampler->object_ = *std::move(object);
  sampler->processes_.emplace(*sampler->object_);
  // Without it the times are read from /proc.
  static_cast<void>(sampler->thread_times_.open(sampler->object_->object(), kThreadTimesReads));
  if (samples_waits(options.mode)) sampler->waits_.emplace(*sampler->object_, options);
  auto tables = StackTables::open(
      options, sampler->object_->object(),
      [object = sampler->object_.get()](Pid pid) -> std::optional<std::uint32_t> {
        auto count = object->exec_count(pid);
        return count ? std::optional(*count) : std::nullopt;
      },
      sampler->object_->take_first_parts());
  if (!tables) return std::move(tables).error();
  sampler->tables_ = *std::move(tables);
  if (Status status = sampler->events_->prepare(options, sampler->object_->program_fd()); !status)
    return std::move(status).error();

  sampler->ring_ = ring_buffer__new(sampler->object_->ring_fd(), &LoadedSampler::on_record,
                                    sampler.get(), nullptr);
  if (!sampler->ring_) return system_error(errno, "cannot map the ring buffer");
  sampler->ring_bytes_ = options.ring_bytes;
  sampler->tables_wait_ = options.tables_wait;
  sampler->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  // The wait is edge-triggered. A level-triggered wait would return as soon as there is one sample.
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLET;
  if (!sampler->epoll_.valid() || epoll_ctl(sampler->epoll_.get(), EPOLL_CTL_ADD,
                                            sampler->object_->ring_fd(), &interest) != 0) {
    return system_error(errno, "cannot wait for the ring buffer");
  }
  interest.events = EPOLLIN;
  const int ready = sampler->tables_->ready_fd();
  if (ready >= 0 && epoll_ctl(sampler->epoll_.get(), EPOLL_CTL_ADD, ready, &interest) != 0) {
    return system_error(errno, "cannot wait for unwind tables");
  }
  // Each wait that a mapping has ended disables this, until the budget allows another one.
  interest.events = EPOLLONESHOT;
  interest.data.fd = sampler->events_->ready_fd();
  if (epoll_ctl(sampler->epoll_.get(), EPOLL_CTL_ADD, interest.data.fd, &interest) != 0) {
    return system_error(errno, "cannot wait for mappings");
  }
  sampler->mappings_.on_mapping = [self = sampler.get()](const MappingEvent& event) {
    if (!self->processes_->contains(event.pid)) return;
    self->tables_->on_mapping(event.pid);
    self->handler_->on_mapping(event);
  };
  return std::unique_ptr<BpfSampler>(std::move(sampler));
}

Status LoadedSampler::start() {
  tables_->wait(tables_wait_);
  if (take_early_mappings()) tables_->wait(tables_wait_);
  begin_clocks();
  if (waits_) {
    if (Status status = waits_->begin(processes_->pids()); !status) return status;
  }
  return events_->enable();
}

// Makes room in the rings, in which nobody has looked since the programs began to load, and looks
// again at processes that have mapped something: tables know it before the first sample. Returns
// whether there are any. What was lost until now is no loss, because everything is looked at again.
bool LoadedSampler::take_early_mappings() {
  PerfRing::Handler early;
  std::set<Pid> changed;
  early.on_mapping = [&](const MappingEvent& event) {
    if (!processes_->contains(event.pid)) return;
    changed.insert(event.pid);
    early_mappings_.push_back({event, std::string(event.path)});
  };
  events_->drain(early);
  events_->leave_out_losses();
  mappings_.was_full = early.was_full || early.lost != 0;
  mappings_.malformed += early.malformed;
  if (mappings_.was_full) {
    for (const Pid pid : processes_->pids()) changed.insert(pid);
  }
  for (const Pid pid : changed) {
    if (looks_) looks_->forget(pid);
    tables_->look_again(pid);
  }
  return !changed.empty();
}

void LoadedSampler::begin_clocks() {
  const auto all = thread_times_.read();
  for (const Pid pid : processes_->pids()) {
    if (!all) {
      clocks_.begin(pid);
    } else if (const auto times = all->find(pid); times != all->end()) {
      clocks_.begin(times->second);
    }
  }
  began_ns_ = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
  if (waits_ && all) waits_->begin(*all, began_ns_);
}

void LoadedSampler::freeze_clocks() {
  const auto all = thread_times_.read();
  const std::uint64_t now_ns = WaitingThreads::now_ns();
  for (const Pid pid : processes_->pids()) {
    if (!all) {
      clocks_.freeze(pid);
    } else if (const auto times = all->find(pid); times != all->end()) {
      clocks_.freeze(pid, times->second);
      if (waits_) waits_->freeze(pid, times->second, now_ns);
    }
  }
}

// ---- records

int LoadedSampler::on_record(void* self, void* data, std::size_t size) {
  auto* sampler = static_cast<LoadedSampler*>(self);
  sampler->take({static_cast<const std::byte*>(data), size});
  // This makes consume() return to its caller once in a while, however fast new records come.
  sampler->taken_bytes_ += size;
  return sampler->taken_bytes_ > sampler->ring_bytes_ ? -EAGAIN : 0;
}

void LoadedSampler::take(std::span<const std::byte> bytes) {
  auto record = decode_record(bytes);
  if (!record) {
    ++own_.malformed_records;
  } else if (auto* sample = std::get_if<SampleRecord>(&*record)) {
    take_sample(*sample, bytes);
  } else if (auto* answer = std::get_if<AnswerRecord>(&*record)) {
    take_answer(*answer);
  } else if (auto* event = std::get_if<ProcessRecord>(&*record)) {
    take_process(*event);
  } else if (auto* end = std::get_if<ThreadEndRecord>(&*record)) {
    // Before sampling began it has run for no recording.
    if (end->time_ns >= began_ns_ && !clocks_.was_replaced(end->pid, end->tid)) {
      hand_out(clocks_.end(end->pid, end->tid, end->thread_ns));
    }
  } else if (auto* waits = std::get_if<ThreadWaitsRecord>(&*record)) {
    if (waits_) waits_->on_thread_end(*waits);
  } else if (auto* set = std::get_if<LabelSetRecord>(&*record)) {
    label_bytes_.clear();
    append_label_bytes(set->labels, label_bytes_);
    handler_->on_label_set(set->pid, set->number, label_bytes_);
  }
}

void LoadedSampler::take_sample(const SampleRecord& sample, std::span<const std::byte> bytes) {
  if (sample.retry_id == 0) {
    hand_out(sample);
  } else if (!held_.hold(sample.retry_id, sample.pid, bytes)) {
    ++own_.samples_not_held;
    SampleRecord vanished = sample;
    vanished.labels = {};
    vanished.labels.outcome = LS_UNREADABLE_VANISHED;
    hand_out(vanished);
  }
}

void LoadedSampler::take_answer(const AnswerRecord& answer) {
  ++answers_;
  if (!held_.settle(answer, [this](const SampleRecord& sample) { hand_out(sample); })) {
    ++unheld_answers_[answer.labels.outcome];
  }
}

void LoadedSampler::take_process(const ProcessRecord& event) {
  if (!processes_->adopt(event)) return;
  switch (event.kind) {
    case ProcessRecord::Kind::kFork:
      tables_->on_fork(event.parent, event.pid);
      handler_->on_fork(event.parent, event.pid);
      break;
    case ProcessRecord::Kind::kExec:
      // Another thread than the first has called exec. It goes on under the first thread's number,
      // so the first thread's account ends here.
      if (raw(event.former) != 0 && raw(event.former) != raw(event.pid) &&
          event.time_ns >= began_ns_) {
        if (waits_) waits_->on_rename(event.pid, event.former);
        handler_->on_thread_end(event.pid, Tid{raw(event.pid)}, 0);
        hand_out(clocks_.rename(event.pid, event.former, event.thread_ns));
      }
      if (waits_) waits_->on_exec(event);
      // At once: to plan it takes longer than many programs run.
      tables_->set(event.pid);
      handler_->on_exec(event.pid);
      break;
    case ProcessRecord::Kind::kExit:
      tables_->forget(event.pid);
      // The handler may forget the process some time after this.
      held_.give_up_of(event.pid, [this](const SampleRecord& sample) { hand_out(sample); });
      handler_->on_exit(event.pid);
      break;
  }
}

void LoadedSampler::hand_out(const SampleRecord& sample) {
  label_bytes_.clear();
  append_label_bytes(sample.labels, label_bytes_);
  Sample handed = sample;
  handed.thread_ns = clocks_.since_start(sample.pid, sample.tid, sample.thread_ns);
  handed.outcome = sample.labels.outcome;
  handed.flags = sample.labels.flags;
  handed.label_bytes = label_bytes_;
  // The stack leads into a mapping that no record has announced: the kernel had no room for the
  // record, or has not written it yet.
  if (sample.stack.end == LS_STACK_NO_MAPPING) tables_->on_mapping(sample.pid);
  if (sample.stack.end == LS_STACK_NO_TABLE && !sample.stack.user.empty()) {
    tables_->want(sample.pid, sample.stack.user.back() & ~LS_FRAME_BY_FP);
  }
  handler_->on_sample(handed);
}

void LoadedSampler::hand_out(const EndedThread& ended) {
  handler_->on_thread_end(ended.pid, ended.tid, ended.ran_ns);
}

// ---- reading

Status LoadedSampler::wait(milliseconds timeout) {
  const bool wants_mappings = tables_->ready_fd() >= 0;
  if (wants_mappings && !mappings_wake_) {
    mappings_wake_ = mapping_wakeups_.spend(steady_clock::now());
    if (mappings_wake_) {
      epoll_event interest{};
      interest.events = EPOLLIN | EPOLLONESHOT;
      interest.data.fd = events_->ready_fd();
      if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, interest.data.fd, &interest) != 0) {
        return system_error(errno, "cannot wait for mappings");
      }
    } else {
      timeout = std::min(timeout, milliseconds(1));  // there is one then
    }
  }
  std::array<epoll_event, 3> ready{};
  const int count =
      epoll_wait(epoll_.get(), ready.data(), ready.size(), static_cast<int>(timeout.count()));
  if (count < 0 && errno != EINTR) return system_error(errno, "cannot wait for samples");
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.fd == events_->ready_fd()) mappings_wake_ = false;
  }
  return {};
}

Status LoadedSampler::consume(EventHandler& handler) {
  handler_ = &handler;
  taken_bytes_ = 0;
  int result = ring_buffer__consume(ring_);
  more_ = result == -EAGAIN;
  if (result < 0 && !more_) return system_error(-result, "cannot read the ring buffer");
  if (Status status = look_at_counters(); !status) return status;
  for (EarlyMapping& early : std::exchange(early_mappings_, {})) {
    early.event.path = early.path;
    handler.on_mapping(early.event);
  }
  const std::uint64_t lost = mappings_.lost;
  events_->drain(mappings_);
  const bool was_full = std::exchange(mappings_.was_full, false);
  if (mappings_.lost != lost || was_full) {
    for (Pid pid : processes_->pids()) tables_->on_mapping(pid);
    handler.on_mappings_lost();
  }
  tables_->work();
  return {};
}

Status LoadedSampler::drain(EventHandler& handler, milliseconds timeout) {
  processes_->ask_first_threads();
  events_->change_rates();
  if (Status status = wait(more_ ? milliseconds(0) : timeout); !status) return status;
  return consume(handler);
}

// Holds the rate of samples of waits, and looks for lost events of processes.
//
// Fork, exec and exit come through the same ring as samples, so that all stay in order. If the ring
// was full, records are lost, but the map of processes still shows what has happened.
Status LoadedSampler::look_at_counters() {
  auto counts = object_->counters();
  if (!counts) return std::move(counts).error();
  const auto& value = counts->value;
  if (waits_) {
    if (Status status = waits_->hold_budget(); !status) return status;
  }
  std::uint64_t lost =
      value[LS_COUNT_DROPPED_FORK] + value[LS_COUNT_DROPPED_EXEC] + value[LS_COUNT_DROPPED_EXIT];
  if (lost == lost_events_ || more_) return {};
  lost_events_ = lost;

  for (const ProcessRecord& event : processes_->missed()) {
    // missed() adds an exec behind each fork, so each process counts once.
    if (event.kind != ProcessRecord::Kind::kFork) ++own_.events_recovered;
    take_process(event);
  }
  return {};
}

// ---- the end

Status LoadedSampler::stop(EventHandler& handler) {
  if (final_) return {};
  if (Status status = events_->disable(); !status) return status;
  if (waits_) waits_->end();
  freeze_clocks();
  do {
    if (Status status = consume(handler); !status) return status;
  } while (more_);
  if (Status status = settle(handler); !status) return status;
  if (waits_) waits_->take(handler);
  object_->detach();
  events_->end_reports();
  held_.give_up([this](const SampleRecord& sample) { hand_out(sample); });
  for (const ls_ending& ending : object_->endings()) {
    const Pid pid{static_cast<std::int32_t>(ending.pid)};
    const Tid tid{static_cast<std::int32_t>(ending.tid)};
    if (!clocks_.was_replaced(pid, tid)) hand_out(clocks_.end(pid, tid, ending.thread_ns));
  }
  for (const EndedThread& ended : clocks_.take_frozen()) hand_out(ended);
  return {};
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
  others[Counter::kMappingEventsLost] = mappings_.lost;
  others[Counter::kMappingEventsMalformed] = mappings_.malformed;
  others[Counter::kThrottled] = mappings_.throttled;
  others[Counter::kRatesNotChanged] = events_->rates_not_changed();
  if (waits_) waits_->add_counts(result);
  others[Counter::kFirstThreadsNotStopped] = processes_->first_threads_refused();
  tables_->add_counts(others);
  return result;
}

}  // namespace

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
