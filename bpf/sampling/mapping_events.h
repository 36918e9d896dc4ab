// For each online CPU there is an event of all processes that reports executable mappings from
// open() on, so that what is mapped after the first look at a process is not missed.
#pragma once

#include <span>
#include <vector>

#include "bpf/load/sampler_options.h"
#include "bpf/sampling/perf_ring.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class MappingEvents {
 public:
  // Reports mappings from now on.
  static Result<MappingEvents> open(const SamplerOptions& options);

  // When this returns, nothing more is reported.
  void end();
  void drain(PerfRing::Handler& handler);
  // Whether there is something to drain.
  bool has_reports() const;
  // Call it after drain().
  void leave_out_losses();
  // Can be read (epoll) when there is a record to drain.
  int ready_fd() const { return ready_.get(); }

  // The event of a CPU, with its ring, which other events of that CPU may write into.
  struct OfCpu {
    int cpu;
    UniqueFd event;
    PerfRing ring;
  };
  std::span<const OfCpu> of_cpus() const { return events_; }

 private:
  MappingEvents() = default;

  UniqueFd ready_;
  std::vector<OfCpu> events_;
};

}  // namespace labelscope
