// One sample by ptrace: stop the thread, read labels and stack, let it go, hand out what was seen.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/stopped_thread.h"
#include "ptrace/holding.h"
#include "ptrace/stop_times.h"
#include "sampling/sampled_process.h"

namespace labelscope {

class ThreadSampler {
 public:
  explicit ThreadSampler(const PtraceSamplerOptions& options) : options_(options) {}

  enum class Found {
    kThread,
    kOtherProgram,  // it executed another one than is known: there is no sample yet
    kEnd,           // it has ended: there is no sample
    kWaiting,       // CPU time is sampled, and it was on no processor: there is no sample
  };
  Found sample(SampledProcess& process, ListedThread& thread, EventHandler& handler);

  // Lets go of threads that stopped too late for their sample. Whether some have not stopped yet.
  bool settle();
  // There are no samples for now, and what comes next may take long.
  void rest() { holding_.reset(); }
  // Of all samples so far.
  Counters counters() const;
  // Sampler::refusal().
  const std::string& refusal() const { return refusal_; }
  const StopTimes& stops() const { return stops_; }
  // Sampler::current_stop().
  std::uint64_t current_stop() const { return current_stop_; }

 private:
  // What the thread showed while it was held.
  struct Seen {
    Observation labels;
    UnwoundStack stack;
    bool other_program = false;
  };
  Seen look_at(SampledProcess& process, const StoppedThread& stopped) const;
  void hand_out(const SampledProcess& process, const ListedThread& thread, const Seen& seen,
                StoppedThread::Clock::time_point time, EventHandler& handler);

  PtraceSamplerOptions options_;
  Counters counts_;  // without `others`
  std::uint64_t threads_ended_first_ = 0;
  std::uint64_t threads_not_stopped_ = 0;
  std::uint64_t threads_refused_ = 0;
  std::string refusal_;  // the first one
  std::uint64_t threads_without_processor_ = 0;
  std::uint64_t threads_waiting_ = 0;
  std::uint64_t cut_by_max_stop_ = 0;
  std::uint64_t stacks_incomplete_ = 0;
  std::uint64_t stacks_complete_ = 0;
  // From the first thread of a tick until none can be held any more: others may stop late.
  std::optional<Holding> holding_;
  StopTimes stops_;
  std::vector<std::byte> label_key_;
  std::uint64_t stops_begun_ = 0;
  std::atomic<std::uint64_t> current_stop_{0};
};

}  // namespace labelscope
