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
// While a recording of waits is cut, records wait in KeptRecords: they are of the next window.
//
//   rings of the perf events --> MappingReports ----------------------------> handler, tables
//
// The tables are those of a way to take stacks (stack_tables.h). sampler.cc begins and ends, and
// drain.cc takes what comes in between.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/load/bpf_object.h"
#include "bpf/sampling/event_source.h"
#include "bpf/sampling/held_samples.h"
#include "bpf/sampling/kept_records.h"
#include "bpf/sampling/mapping_events.h"
#include "bpf/sampling/mapping_reports.h"
#include "bpf/sampling/process_table.h"
#include "bpf/sampling/sampled_waits.h"
#include "bpf/sampling/sampler.h"
#include "bpf/sampling/thread_clocks.h"
#include "bpf/sampling/thread_times.h"
#include "bpf/sampling/timed_events.h"
#include "bpf/unwind/stack_tables.h"
#include "bpf/wire/records.h"
#include "labelscope/unique_fd.h"
#include "process/first_looks.h"

struct ring_buffer;

namespace labelscope {

class LoadedSampler final : public BpfSampler {
 public:
  static Result<std::unique_ptr<BpfSampler>> open(const SamplerOptions& options);
  explicit LoadedSampler(std::vector<Pid> first_processes) : looks_(std::move(first_processes)) {}
  ~LoadedSampler() override;

  Status set_process(Pid pid, std::span<const ls_tls_recipe> recipes,
                     const PresetPlans& presets) override {
    Status status = processes_->set(pid, recipes, presets);
    if (status) tables_->set(pid, looks_.of(pid));
    return status;
  }
  Status set_running_process(Pid pid) override {
    // A process that is sampled has been so since its fork, whose record is still in the ring.
    if (object_->process(pid)) return set_process(pid, {&kNotPlanned, 1}, {});
    clocks_.begin(pid);  // before it is sampled: each sample's time is later
    Status status = set_process(pid, {&kNotPlanned, 1}, {});
    if (!status || !waits_) return status;
    status = waits_->begin(pid);
    if (!status) static_cast<void>(remove_process(pid));  // it is not recorded
    return status;
  }
  Status set_sampled_process(Pid pid) override {
    Status status = processes_->set(pid, {&kNotPlanned, 1}, {}, ProcessTable::Which::kKnown);
    if (status) tables_->set(pid, looks_.of(pid));
    return status;
  }
  Status set_before_exec(Pid pid, UniqueFd program) override {
    tables_->expect(std::move(program));
    return processes_->set(pid, {}, {}, ProcessTable::Which::kUntilExec);
  }
  Status remove_process(Pid pid) override {
    tables_->forget(pid);
    Status status = processes_->remove(pid);
    if (waits_) object_->forget_waits(pid);
    return status;
  }
  ProcessKey key_of(Pid pid) const override { return {pid, processes_->life(pid)}; }
  const OneLook* first_look(Pid pid) const override { return looks_.of(pid); }
  Status start() override;
  Status wake_on(int fd) override;
  Status drain(EventHandler& handler, std::chrono::milliseconds timeout) override;
  Status cut(EventHandler& handler) override;
  std::vector<std::uint64_t> label_numbers_in_use() const override {
    return waits_ ? waits_->labels_in_use() : std::vector<std::uint64_t>{};
  }
  void forget_label_numbers(std::span<const std::uint64_t> numbers) override {
    if (waits_) object_->forget_label_numbers(numbers);
  }
  Status stop(EventHandler& handler) override;
  Counters counters() const override;
  std::string_view event_name() const override { return event_name_; }
  Span span() const override { return {began_ns_, ended_ns_, waits_ ? waits_->cut_ns() : 0}; }
  std::vector<std::string> remarks() const override;
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
  // Counters that only user space keeps.
  struct OwnCounts {
    std::uint64_t malformed_records = 0;
    std::uint64_t samples_not_held = 0;
    std::uint64_t events_recovered = 0;
  };

  // What takes records, and waits for them (drain.cc).
  static int on_record(void* self, void* data, std::size_t size);
  void take(std::span<const std::byte> bytes);
  void take_label_set(const LabelSetRecord& set);
  Status read_ring();
  Status keep_for_later();
  void take_early(std::span<const std::byte> bytes);
  void take_kept();
  Status cut_waits(EventHandler& handler, const ThreadTimes::ByProcess& times);
  void take_sample(const SampleRecord& sample, std::span<const std::byte> bytes);
  void take_answer(const AnswerRecord& answer);
  void take_thread_end(const ThreadEndRecord& end);
  void take_process(const ProcessRecord& event);
  void take_exec(const ProcessRecord& event, ProcessKey before);
  void hand_out(const std::optional<ThreadClocks::Time>& ended, std::uint32_t life);
  void hand_out(const SampleRecord& sample);
  Status wait(std::chrono::milliseconds timeout);
  Status consume(EventHandler& handler);
  Status look_at_counters();

  Status open_sources(const SamplerOptions& options);
  Status open_waits();
  Status settle(EventHandler& handler);
  void begin_clocks();
  void freeze_clocks();
  bool is_of_recording(Pid pid, Tid tid, std::uint32_t identity, std::uint64_t ended_ns) const;
  void take_ending(const ls_ending& ending);

  std::unique_ptr<BpfObject> object_;
  std::optional<MappingEvents> events_;
  UniqueFd epoll_;
  ring_buffer* ring_ = nullptr;
  std::size_t ring_bytes_ = 0;
  std::chrono::milliseconds tables_wait_{};

  // What has happened to threads since their times were read.
  struct ChangedThreads {
    std::set<std::pair<Tid, std::uint32_t>> ended;  // by number and identity
    std::set<Pid> executed;
  };

  EventHandler* handler_ = nullptr;    // set during drain() and stop()
  ChangedThreads* changed_ = nullptr;  // set while it is of interest
  ThreadClocks clocks_;
  ThreadTimes thread_times_;
  std::uint64_t began_ns_ = 0;  // when the clocks had begun
  std::uint64_t ended_ns_ = 0;  // when they were frozen
  std::optional<ProcessTable> processes_;
  std::unique_ptr<StackTables> tables_;
  FirstLooks looks_;  // until sampling begins
  std::optional<MappingReports> reports_;
  std::optional<TimedEvents> timed_;   // if the mode samples threads that run
  std::optional<SampledWaits> waits_;  // if it samples waits
  std::vector<EventSource*> sources_;  // these
  std::string event_name_;
  HeldSamples held_;
  std::vector<std::byte> label_bytes_;
  std::size_t taken_bytes_ = 0;  // bytes that the current consume() has taken
  bool more_ = false;            // the last consume() ended before the ring was empty
  // Records of the next window, which have come before this one could be handed out.
  KeptRecords kept_;
  bool keeps_ = false;
  std::uint64_t answers_ = 0;
  // This counts, by outcome, the answers whose samples were not held because there was no room.
  // These samples went out as vanished, so the counters move them from the outcome that the kernel
  // has counted to "vanished".
  std::array<std::uint64_t, LS_OUTCOME_COUNT> unheld_answers_{};
  std::uint64_t lost_events_ = 0;
  OwnCounts own_;
  std::optional<ls_counters> final_;
};

}  // namespace labelscope
