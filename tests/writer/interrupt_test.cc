// Tests a profiler inside the process: a timer signal that interrupts the writer ten thousand times
// a second and compares the set it finds with the two that may be there.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "support/catch.h"
#include "writer/label_steps.h"

// Before 2.38 glibc has no name for this member, which SIGEV_THREAD_ID needs.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace {

constexpr std::uint64_t kUpdates = 1'000'000;
constexpr std::uint64_t kSamplesInCalls = 1'000;
constexpr long kPeriodNs = 100'000;

// The handler may see either. Both are equal between calls. Relaxed stores are enough, since the
// handler runs on the same thread.
std::atomic<const LabelStep*> old_step;
std::atomic<const LabelStep*> new_step;
std::atomic<std::uint64_t> samples_in_calls;
std::atomic<const LabelStep*> first_wrong;

void on_sample(int) {
  const LabelStep* before = old_step.load(std::memory_order_relaxed);
  const LabelStep* after = new_step.load(std::memory_order_relaxed);
  const custom_labels_labelset_t* set = custom_labels_current_set;
  if (before != after) samples_in_calls.fetch_add(1, std::memory_order_relaxed);
  if (is_set(set, before->after) || is_set(set, after->after)) return;
  const LabelStep* none = nullptr;
  first_wrong.compare_exchange_strong(none, after);
}

class SampleTimer {
 public:
  SampleTimer() {
    struct sigaction action = {};
    action.sa_handler = on_sample;
    action.sa_flags = SA_RESTART;
    REQUIRE(sigaction(SIGPROF, &action, nullptr) == 0);
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0);
    const itimerspec every = {{0, kPeriodNs}, {0, kPeriodNs}};
    REQUIRE(timer_settime(timer_, 0, &every, nullptr) == 0);
  }
  ~SampleTimer() { timer_delete(timer_); }
  SampleTimer(const SampleTimer&) = delete;
  SampleTimer& operator=(const SampleTimer&) = delete;

 private:
  timer_t timer_{};
};

}  // namespace

TEST_CASE("interrupt: a signal sees the old or the new set, over a million updates at 10 kHz") {
  const std::vector<LabelStep> steps = label_steps();
  old_step = new_step = &steps.back();  // no labels
  std::uint64_t updates = 0;
  {
    SampleTimer timer;
    while ((updates < kUpdates || samples_in_calls.load() < kSamplesInCalls) &&
           first_wrong.load() == nullptr) {
      for (const LabelStep& step : steps) {
        new_step.store(&step, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        step.act();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        old_step.store(&step, std::memory_order_relaxed);
        ++updates;
      }
    }
  }
  INFO("updates " << updates << ", samples within a call " << samples_in_calls.load());
  const LabelStep* wrong = first_wrong.load();
  INFO("first wrong set seen in step: " << (wrong == nullptr ? "none" : wrong->name));
  CHECK(wrong == nullptr);
}
