// A ProcessorWatch finds processors whose events have ceased: the kernel does not give them back to
// a processor that was offline, as all but the first are while the machine sleeps. Nor have
// processors events that come later.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bpf/sampling/mapping_events.h"

namespace labelscope {

class ProcessorWatch {
 public:
  // The events must outlive it.
  explicit ProcessorWatch(const MappingEvents& events) : events_(events) {}
  // Call it often: it looks once a second.
  void look();
  // Sentences about these, and their number.
  const std::vector<std::string>& remarks() const { return remarks_; }
  std::uint64_t not_sampled() const { return not_sampled_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::uint64_t active_ns = 0;  // how long its event had been active when it was looked at
    bool is_lost = false;
  };
  void note(const std::vector<int>& cpus, const std::string& what);

  const MappingEvents& events_;
  std::vector<Seen> seen_;  // by the order of the events
  Clock::time_point next_look_;
  std::set<int> without_events_;  // processors that have come since
  std::vector<std::string> remarks_;
  std::uint64_t not_sampled_ = 0;
};

}  // namespace labelscope
