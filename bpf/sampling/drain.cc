// What the sampler takes while it samples: the records of the ring buffer, one by one, and what the
// kernel counts (loaded_sampler.h has the map of it).
#include <bpf/libbpf.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "bpf/sampling/loaded_sampler.h"
#include "bpf/wire/records.h"

namespace labelscope {

using std::chrono::milliseconds;

int LoadedSampler::on_record(void* self, void* data, std::size_t size) {
  auto* sampler = static_cast<LoadedSampler*>(self);
  const std::span bytes(static_cast<const std::byte*>(data), size);
  if (sampler->keeps_) {
    sampler->kept_.keep(bytes);
  } else {
    sampler->take(bytes);
  }
  // This makes consume() return to its caller once in a while, however fast new records come.
  sampler->taken_bytes_ += size;
  return sampler->taken_bytes_ > sampler->ring_bytes_ ? -EAGAIN : 0;
}

void LoadedSampler::take(std::span<const std::byte> bytes) {
  auto record = decode_record(bytes);
  // The final counters have these as pending, and what was drawn of waits has been handed out.
  const bool is_late = final_ && record &&
                       (std::holds_alternative<SampleRecord>(*record) ||
                        std::holds_alternative<AnswerRecord>(*record));
  if (is_late) return;
  if (!record) {
    ++own_.malformed_records;
  } else if (auto* sample = std::get_if<SampleRecord>(&*record)) {
    reports_->take_until(sample->time_ns, *handler_);
    take_sample(*sample, bytes);
  } else if (auto* answer = std::get_if<AnswerRecord>(&*record)) {
    take_answer(*answer);
  } else if (auto* event = std::get_if<ProcessRecord>(&*record)) {
    take_process(*event);
  } else if (auto* end = std::get_if<ThreadEndRecord>(&*record)) {
    take_thread_end(*end);
  } else if (auto* waits = std::get_if<ThreadWaitsRecord>(&*record)) {
    if (waits_) waits_->on_thread_end(*waits);
  } else if (auto* set = std::get_if<LabelSetRecord>(&*record)) {
    take_label_set(*set);
  }
}

void LoadedSampler::take_label_set(const LabelSetRecord& set) {
  label_bytes_.clear();
  append_label_bytes(set.labels, label_bytes_);
  handler_->on_label_set(set.process, set.number, label_bytes_, set.choice == LS_CHOICE_OF_BLAME);
}

// Of the records that are kept for the next window, this one needs the labels of its totals, and
// the accounts of threads that have ended. A label set of a process that has begun since is not
// wanted yet.
void LoadedSampler::take_early(std::span<const std::byte> bytes) {
  auto record = decode_record(bytes);
  if (!record) return;  // it is counted when it is taken
  if (auto* waits = std::get_if<ThreadWaitsRecord>(&*record)) {
    waits_->on_thread_end(*waits);
  } else if (auto* set = std::get_if<LabelSetRecord>(&*record)) {
    const bool is_known = processes_->contains(set->process.pid) &&
                          key_of(set->process.pid) == set->process;
    if (is_known) take_label_set(*set);
  }
}

// Moves what is in the ring to kept_. Records may come as fast as they are moved.
Status LoadedSampler::keep_for_later() {
  constexpr int kMostRounds = 4;
  keeps_ = true;
  Status status;
  for (int round = 0; round < kMostRounds && status; ++round) {
    status = read_ring();
    if (!more_) break;
  }
  keeps_ = false;
  kept_.each([this](std::span<const std::byte> bytes) { take_early(bytes); });
  return status;
}

// The accounts of threads that have ended were taken early.
void LoadedSampler::take_kept() {
  kept_.take().each([this](std::span<const std::byte> bytes) {
    const auto record = decode_record(bytes);
    if (record && std::holds_alternative<ThreadWaitsRecord>(*record)) return;
    take(bytes);
  });
}

void LoadedSampler::take_sample(const SampleRecord& sample, std::span<const std::byte> bytes) {
  if (sample.retry_id == 0) {
    hand_out(sample);
  } else if (!held_.hold(sample, bytes)) {
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

void LoadedSampler::take_thread_end(const ThreadEndRecord& end) {
  if (!is_of_recording(end.process.pid, end.tid, end.identity, end.time_ns)) return;
  held_.give_up_of(end, [this](const SampleRecord& sample) { hand_out(sample); });
  if (changed_ != nullptr) changed_->ended.emplace(end.tid, end.identity);
  hand_out(clocks_.end(end.process.pid, end.tid, end.identity, end.thread_ns), end.process.life);
}

void LoadedSampler::take_process(const ProcessRecord& event) {
  // Of a child that was added before the start, the tables know more than its parent's have.
  const bool was_set =
      processes_->contains(event.pid) && event.time_ns != 0 && event.time_ns < began_ns_;
  const ProcessKey before = key_of(event.pid);
  if (!processes_->adopt(event)) return;
  // A fork may be of a process that is known already, and has executed a program since.
  const ProcessKey now = key_of(event.pid);
  switch (event.kind) {
    case ProcessRecord::Kind::kFork:
      clocks_.forget_identity(Tid{raw(event.pid)});
      reports_->take_until(event.time_ns, *handler_);
      if (!was_set)
        tables_->on_fork({event.parent, event.from_life}, {event.pid, event.life});
      handler_->on_fork(event.parent, now);
      // Its record was lost: nobody knows what its parent was then.
      if (event.time_ns == 0) handler_->on_exec(now, {});
      break;
    case ProcessRecord::Kind::kExec:
      reports_->take_until(event.time_ns, *handler_);
      // What is read again now is another program's.
      held_.give_up_of(event.pid, [this](const SampleRecord& sample) { hand_out(sample); });
      take_exec(event, before);
      if (waits_) waits_->on_exec(event);
      reports_->on_exec();
      // At once: to plan it takes longer than many programs run.
      tables_->set(event.pid, nullptr);
      handler_->on_exec(now, event.comm);
      break;
    case ProcessRecord::Kind::kExit:
      // The handler may forget the process some time after this.
      held_.give_up_of(event.pid, [this](const SampleRecord& sample) { hand_out(sample); });
      tables_->forget(event.pid);
      if (!event.comm.empty()) handler_->on_last_name({event.pid, event.life}, event.comm);
      handler_->on_exit(event.pid);
      break;
  }
}

// If another thread than the first has called exec, it goes on under the first thread's number, and
// the first thread's account ends here.
void LoadedSampler::take_exec(const ProcessRecord& event, ProcessKey before) {
  if (event.time_ns == 0) {
    clocks_.note_unseen_exec(event.pid);
    return;
  }
  if (event.time_ns < began_ns_) return;
  if (changed_ != nullptr) changed_->executed.insert(event.pid);
  if (waits_ && raw(event.former) != 0 && raw(event.former) != raw(event.pid)) {
    waits_->on_rename(event.pid, event.former);
  }
  const auto ended = clocks_.exec(event.pid, event.former, event.identity, event.thread_ns);
  if (!ended) return;
  handler_->on_thread_end(before, Tid{raw(event.pid)}, 0);
  hand_out(ended, before.life);
}

void LoadedSampler::hand_out(const SampleRecord& sample) {
  label_bytes_.clear();
  append_label_bytes(sample.labels, label_bytes_);
  Sample handed = sample;
  // The record of its fork was lost, and with it that of the end of what had this number before.
  const Pid pid = sample.process.pid;
  if (!processes_->contains(pid)) clocks_.forget_identity(Tid{raw(pid)});
  const auto clock = clocks_.at(pid, sample.tid, sample.identity, sample.thread_ns);
  handed.tid = clock.tid;
  handed.thread_ns = clock.ran_ns;
  handed.outcome = sample.labels.outcome;
  handed.flags = sample.labels.flags;
  handed.label_bytes = label_bytes_;
  handed.stack.by_tables = sample.list != 0;
  if (sample.list != 0 && !sample.stack.user.empty()) {
    const auto last =
        tables_->doubtful_frame(pid, sample.list, sample.time_ns, sample.stack.user);
    if (last) {
      handed.stack.user = handed.stack.user.first(*last + 1);
      handed.stack.end = LS_STACK_NO_MAPPING;
    }
  }
  // The stack leads into a mapping that no record has announced: the kernel had no room for the
  // record, or has not written it yet.
  if (sample.stack.end == LS_STACK_NO_MAPPING) tables_->on_mapping(pid);
  if (sample.stack.end == LS_STACK_NO_TABLE && !sample.stack.user.empty()) {
    tables_->want(pid, sample.stack.frame(sample.stack.user.back()).value);
  }
  handler_->on_sample(handed);
}

void LoadedSampler::hand_out(const std::optional<ThreadClocks::Time>& ended, std::uint32_t life) {
  if (ended) handler_->on_thread_end({ended->pid, life}, ended->tid, ended->ran_ns);
}

Status LoadedSampler::wait(milliseconds timeout) {
  const auto longest = reports_->let_wake();
  if (!longest) return longest.error();
  timeout = std::min({timeout, *longest, tables_->longest_wait()});
  for (const EventSource* source : sources_) timeout = std::min(timeout, source->longest_wait());
  std::array<epoll_event, 4> ready{};
  const int count =
      epoll_wait(epoll_.get(), ready.data(), ready.size(), static_cast<int>(timeout.count()));
  if (count < 0 && errno != EINTR) return system_error(errno, "cannot wait for samples");
  for (int i = 0; i < count; ++i) reports_->on_ready(ready[i].data.fd);
  return {};
}

Status LoadedSampler::read_ring() {
  taken_bytes_ = 0;
  const int result = ring_buffer__consume(ring_);
  more_ = result == -EAGAIN;
  if (result < 0 && !more_) return system_error(-result, "cannot read the ring buffer");
  return {};
}

Status LoadedSampler::consume(EventHandler& handler) {
  handler_ = &handler;
  const std::uint64_t now_ns = monotonic_ns();
  take_kept();
  if (Status status = read_ring(); !status) return status;
  if (Status status = look_at_counters(); !status) return status;
  // What was mapped later may belong behind records that have not been read.
  reports_->take(more_ ? 0 : now_ns, handler);
  tables_->work();
  return {};
}

Status LoadedSampler::drain(EventHandler& handler, milliseconds timeout) {
  processes_->ask_first_threads();
  for (EventSource* source : sources_) source->work(*object_);
  const bool has_more = more_ || !kept_.empty();
  if (Status status = wait(has_more ? milliseconds(0) : timeout); !status) return status;
  return consume(handler);
}

// Holds the rate of samples of waits, and looks for lost events of processes.
//
// Fork, exec and exit come through the same ring as samples, so that all stay in order. If the ring
// was full, records are lost, but the map of processes still shows what has happened.
Status LoadedSampler::look_at_counters() {
  auto counts = object_->counters(LS_COUNTERS_OTHERS);
  if (!counts) return std::move(counts).error();
  const auto& value = counts->value;
  // At the end, all totals are read at once.
  if (waits_ && !final_) {
    if (Status status = waits_->work(*handler_, !more_); !status) return status;
  }
  std::uint64_t lost =
      value[LS_COUNT_DROPPED_FORK] + value[LS_COUNT_DROPPED_EXEC] + value[LS_COUNT_DROPPED_EXIT];
  if (lost == lost_events_ || more_) return {};
  lost_events_ = lost;

  for (const ProcessRecord& event : processes_->missed()) {
    ++own_.events_recovered;
    take_process(event);
  }
  return {};
}

}  // namespace labelscope
