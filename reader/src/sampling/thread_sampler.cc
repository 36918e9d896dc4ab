// While a thread is held, only ThreadSampler::look_at() runs.
#include "sampling/thread_sampler.h"

#include <algorithm>
#include <utility>

#include "labelscope/observe.h"
#include "ptrace/holding.h"
#include "sources/label_codec.h"

namespace labelscope {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Clock = StoppedThread::Clock;  // CLOCK_MONOTONIC on Linux, as Sample::time_ns

// How long the sampler waits until a thread stops. A running thread stops at once, and one that
// waits for a processor stops when it gets one. A thread that waits for a device may never stop,
// and would delay the samples of others. So the sampler does not wait for it long, and does not try
// it again for a while.
constexpr milliseconds kPatience{200};
constexpr milliseconds kPatienceForDevices{5};
constexpr milliseconds kHopeless{1000};

}  // namespace

ThreadSampler::Attempt ThreadSampler::sample(SampledProcess& process, ListedThread& thread,
                                             EventHandler& handler) {
  Seen seen;
  label_bytes_.clear();
  auto time = Clock::now();
  if (thread.is_worker) {
    // Its registers are those of whoever made it, and to stop it ends what it does for others.
    seen.labels.outcome = LS_UNLABELLED;
    seen.labels.flags = LS_NEVER_TOUCHED;
    seen.stack.end = LS_STACK_ROOT;
  } else if (time < thread.hopeless_until) {
    ++(thread.refused ? threads_refused_ : threads_not_stopped_);
    seen.labels.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  } else {
    const bool waits_for_device =
        options_.kind() == LS_WHOLE_TIME && process.threads().state_of(thread) == 'D';
    if (!holding_) holding_.emplace();
    const MarkedStop marked(&current_stop_, ++stops_begun_);
    auto stopped =
        StoppedThread::stop(thread.tid, waits_for_device ? kPatienceForDevices : kPatience);
    if (stopped && options_.kind() == LS_ON_CPU &&
        (stopped->was_waiting() || !process.threads().was_on_processor(thread))) {
      stops_.add(stopped->held());
      ++threads_waiting_;
      return Attempt::kWaiting;
    }
    if (stopped) {
      time = Clock::now();
      {
        const StoppedThread held = *std::move(stopped);
        seen = look_at(process, thread.tid, held);
        stops_.add(held.held());
      }
      if (seen.other_program) return Attempt::kOtherProgram;
      // Otherwise a thread that may stop at any moment would be held while a table is made.
      if (process.unwinder() != nullptr && process.unwinder()->lacks_tables() && !settle()) {
        return Attempt::kNoTable;
      }
    } else if (stopped.error().code == ErrorCode::kVanished) {
      // The thread has ended, or is just ending: there is nothing to sample.
      thread.ended = true;
      ++threads_ended_first_;
      return Attempt::kEnd;
    } else {
      thread.refused = stopped.error().code == ErrorCode::kPermission;
      if (thread.refused && refusal_.empty()) refusal_ = stopped.error().context;
      if (!thread.refused && process.threads().state_of(thread) == 'R') {
        // The thread only waits for a processor. The next time it may stop at once, so it is tried
        // again.
        ++threads_without_processor_;
      } else {
        thread.hopeless_until = Clock::now() + kHopeless;
        ++(thread.refused ? threads_refused_ : threads_not_stopped_);
      }
      seen.labels.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
    }
  }
  hand_out(process, thread, seen, time, handler);
  return Attempt::kThread;
}

bool ThreadSampler::settle() {
  const bool awaited = StoppedThread::settle() != 0;
  if (!awaited) holding_.reset();
  const auto late = StoppedThread::take_longest_late_stop();
  if (late.count() != 0) stops_.add(late);
  return awaited;
}

// The thread is held meanwhile, so nothing here may take long.
ThreadSampler::Seen ThreadSampler::look_at(SampledProcess& process, Tid tid,
                                           const StoppedThread& stopped) {
  const auto deadline = Clock::now() + options_.max_stop - stopped.held();
  Seen seen;
  auto thread_pointer = stopped.thread_pointer();
  auto registers = stopped.registers();
  if (!thread_pointer || !registers) {
    seen.labels.outcome = LS_UNREADABLE_VANISHED;  // the thread was killed while it was held
    return seen;
  }
  if (!process.runs_its_program()) {
    seen.other_program = true;
    return seen;
  }
  label_bytes_.clear();
  const std::string name = process.thread_name(tid);
  seen.labels = observe_as_bytes(process.recipes(),
                                 {.thread_pointer = *thread_pointer,
                                  .tid = process.number_inside(tid),
                                  .registers = &*registers,
                                  .first = raw(tid) == raw(process.pid()),
                                  .name = name,
                                  .presets = &process.presets()},
                                 process.memory(), label_bytes_);
  if (process.unwinder() != nullptr) {
    seen.stack = process.unwinder()->unwind(*registers, process.memory(), deadline);
  }
  return seen;
}

void ThreadSampler::hand_out(const SampledProcess& process, const ListedThread& thread,
                             const Seen& seen, Clock::time_point time, EventHandler& handler) {
  Sample sample;
  sample.time_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count());
  sample.kind = options_.kind();
  const nanoseconds ran =
      options_.kind() == LS_WHOLE_TIME ? time - thread.seen_first : thread.ran - thread.before;
  sample.thread_ns = static_cast<std::uint64_t>(std::max(ran, nanoseconds(0)).count());
  sample.process = process.key();
  sample.tid = thread.tid;
  sample.comm = thread.comm;
  sample.stack.user = seen.stack.frames;
  if (options_.stacks) sample.stack.end = seen.stack.end;
  sample.outcome = seen.labels.outcome;
  sample.flags = seen.labels.flags;
  sample.label_bytes = label_bytes_;
  if (seen.stack.end == LS_STACK_OUT_OF_TIME) sample.flags |= LS_STACK_CUT;
  ++counts_.taken;
  ++counts_.outcomes[sample.outcome];
  if ((sample.flags & LS_TRUNCATED) != 0) ++counts_.truncated;
  handler.on_sample(sample);
}

Counters ThreadSampler::counters() const {
  Counters counters = counts_;
  Counts& others = counters.others;
  others[Counter::kThreadsEndedFirst] = threads_ended_first_;
  others[Counter::kThreadsNotStopped] = threads_not_stopped_;
  others[Counter::kThreadsRefused] = threads_refused_;
  others[Counter::kThreadsWithoutProcessor] = threads_without_processor_;
  others[Counter::kThreadsWaitingAgain] = threads_waiting_;
  const auto us = [](nanoseconds time) {
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::microseconds>(time).count());
  };
  counters.stops = {us(stops_.longest()), us(stops_.quantile(0.5)), us(stops_.quantile(0.99))};
  return counters;
}

}  // namespace labelscope
