#include "bpf/sampling/mapping_events.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bpf/sampling/perf_event.h"

namespace labelscope {
namespace {

// With the file's identity.
perf_event_attr reporter_attributes() {
  perf_event_attr attributes = with_ring();
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attributes;
}

}  // namespace

Result<MappingEvents> MappingEvents::open(const SamplerOptions& options) {
  if (Status status = check_frequency(options.frequency_hz); !status) {
    return std::move(status).error();
  }
  auto cpus = online_cpus();
  if (!cpus) return std::move(cpus).error();
  MappingEvents events;
  events.ready_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!events.ready_.valid()) return system_error(errno, "cannot wait for perf events");
  for (const int cpu : *cpus) {
    UniqueFd event = open_event(reporter_attributes(), cpu);
    if (!event.valid() && errno == ENODEV) continue;  // the CPU has gone offline meanwhile
    if (!event.valid()) return refused_event(errno);
    auto ring = PerfRing::map(event.get());
    if (!ring) return std::move(ring).error();
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLET;
    if (epoll_ctl(events.ready_.get(), EPOLL_CTL_ADD, event.get(), &interest) != 0) {
      return system_error(errno, "cannot wait for a perf event");
    }
    events.events_.push_back({cpu, std::move(event), *std::move(ring)});
  }
  if (events.events_.empty()) return Error{ErrorCode::kSystem, "no CPU is online"};
  return events;
}

void MappingEvents::end() {
  for (const OfCpu& each : events_) {
    static_cast<void>(ioctl(each.event.get(), PERF_EVENT_IOC_DISABLE, 0));
  }
}

bool MappingEvents::has_reports() const {
  return std::ranges::any_of(events_, [](const OfCpu& each) { return each.ring.has_records(); });
}

void MappingEvents::drain(PerfRing::Handler& handler) {
  for (OfCpu& each : events_) each.ring.drain(handler);
}

void MappingEvents::leave_out_losses() {
  for (OfCpu& each : events_) each.ring.leave_out_losses();
}

}  // namespace labelscope
