// An EventSource is what makes programs take samples. A mode has one for each kind of moment at
// which it samples:
//
//   the mode samples   its source
//   threads that run   TimedEvents (timed_events.h): cycles, or a clock, on each processor
//   waits              SampledWaits (sampled_waits.h): the scheduler's tracepoints
//
// The sampler starts, ends and asks all of them alike. What else a source can do (totals, ledgers)
// is its own.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/result.h"
#include "sampling/counters.h"
#include "sampling/sampler.h"

namespace labelscope {

class BpfObject;

class EventSource {
 public:
  virtual ~EventSource() = default;

  // What samples, for the head of files: "cycles".
  virtual std::string_view name() const = 0;
  // Begins to sample.
  virtual Status enable() = 0;
  // When this returns, no program begins for this source. What has begun may still be sent.
  virtual Status disable() = 0;
  // What it has to do while it samples: call it before each wait for records.
  virtual void work(const BpfObject& /*object*/) {}
  // Returns how long such a wait may last.
  virtual std::chrono::milliseconds longest_wait() const {
    return std::chrono::milliseconds::max();
  }
  // Adds its counts to the ledger.
  virtual void add_counts(Counters& /*counters*/) const {}
  // Sentences about what no counter can say.
  virtual std::vector<std::string> remarks() const { return {}; }
};

}  // namespace labelscope
