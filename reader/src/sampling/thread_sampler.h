// ThreadSampler takes one sample by ptrace: it stops the thread, reads labels and stack, lets the
// thread go, and hands out the sample.
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

  enum class Attempt {
    kThread,
    kOtherProgram,  // no sample yet: the process runs another program than the known one
    kNoTable,       // no sample: its stack lacks a table that can be made now
    kEnd,           // no sample: the thread has ended
    kWaiting,       // no sample: CPU time is sampled, and the thread was on no processor
  };
  Attempt sample(SampledProcess& process, ListedThread& thread, EventHandler& handler);

  // Lets go of threads that stopped too late for their sample. Returns true if some have not
  // stopped yet.
  bool settle();
  // Call it when there are no samples for now, and the next work may take long.
  void rest() { holding_.reset(); }
  // Returns the counts of all samples so far.
  Counters counters() const;
  // Returns Sampler::refusal().
  const std::string& refusal() const { return refusal_; }
  // Returns Sampler::current_stop().
  std::uint64_t current_stop() const { return current_stop_; }

 private:
  // What the thread showed while it was held.
  struct Seen {
    Observation labels;
    UnwoundStack stack;
    bool other_program = false;
  };
  Seen look_at(SampledProcess& process, Tid tid, const StoppedThread& stopped);
  void hand_out(const SampledProcess& process, const ListedThread& thread, const Seen& seen,
                StoppedThread::Clock::time_point time, EventHandler& handler);

  PtraceSamplerOptions options_;
  Counters counts_;  // without `others`
  std::uint64_t threads_ended_first_ = 0;
  std::uint64_t threads_not_stopped_ = 0;
  std::uint64_t threads_refused_ = 0;
  std::string refusal_;  // the first refusal
  std::uint64_t threads_without_processor_ = 0;
  std::uint64_t threads_waiting_ = 0;
  // This exists from the first thread of a tick until no thread can be held any more (threads may
  // stop late).
  std::optional<Holding> holding_;
  StopTimes stops_;
  std::vector<std::byte> label_bytes_;
  std::uint64_t stops_begun_ = 0;
  std::atomic<std::uint64_t> current_stop_{0};
};

}  // namespace labelscope
