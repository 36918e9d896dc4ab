#include "bpf/sampling/timed_events.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "bpf/load/bpf_object.h"
#include "bpf/load/kernel.h"
#include "bpf/sampling/perf_event.h"

namespace labelscope {
namespace {

perf_event_attr sampler_attributes(const SamplerOptions& options, bool hardware) {
  perf_event_attr attributes = with_ring();
  attributes.disabled = 1;
  if (hardware) {
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.freq = 1;
    attributes.sample_freq = options.frequency_hz;
  } else {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1'000'000'000ULL / options.frequency_hz;
    attributes.exclude_idle = 1;  // the hardware event on aarch64 refuses this
  }
  return attributes;
}

}  // namespace

Result<TimedEvents> TimedEvents::open(const SamplerOptions& options, const MappingEvents& rings,
                                      int program_fd) {
  TimedEvents events(rings);
  if (auto possible = possible_cpus()) events.possible_ = *std::move(possible);
  events.counts_cycles_ = options.event != SampledEvent::kClock;
  Status status = events.open_all(options, rings);
  if (!status && status.error().code == ErrorCode::kUnsupported && events.counts_cycles_ &&
      options.event != SampledEvent::kCycles) {
    events.counts_cycles_ = false;
    status = events.open_all(options, rings);
  }
  if (!status) return std::move(status).error();
  events.rates_ = DrawnRates({.counts_cycles = events.counts_cycles_,
                              .mean_hz = static_cast<double>(options.frequency_hz),
                              .highest_hz = static_cast<double>(most_samples_a_second()),
                              .seed = std::random_device{}()});
  for (const OfCpu& each : events.events_) {
    if (status = attach_to_event(each.event.get(), program_fd); !status)
      return std::move(status).error();
  }
  return events;
}

// Returns kUnsupported if this kind of event does not exist on some CPU.
Status TimedEvents::open_all(const SamplerOptions& options, const MappingEvents& rings) {
  events_.clear();
  for (const MappingEvents::OfCpu& of_cpu : rings.of_cpus()) {
    UniqueFd event = open_event(sampler_attributes(options, counts_cycles_), of_cpu.cpu);
    if (!event.valid()) {
      if (counts_cycles_ && (errno == ENOENT || errno == EOPNOTSUPP || errno == EINVAL)) {
        return Error{
            ErrorCode::kUnsupported,
            "the hardware does not count cycles here (a virtual machine mostly shows no counters)"};
      }
      if (errno == ENODEV) continue;
      return refused_event(errno);
    }
    if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, of_cpu.event.get()) != 0) {
      return system_error(errno, "two perf events of a CPU cannot share a ring");
    }
    events_.push_back({of_cpu.cpu, std::move(event)});
  }
  if (events_.empty()) return Error{ErrorCode::kSystem, "no CPU is online"};
  return {};
}

Status TimedEvents::set(unsigned long request, const char* what) {
  for (const OfCpu& each : events_) {
    if (ioctl(each.event.get(), request, 0) != 0) return system_error(errno, what);
  }
  return {};
}

Status TimedEvents::enable() {
  change_rates({});
  return set(PERF_EVENT_IOC_ENABLE, "cannot start a perf event");
}

Status TimedEvents::disable() { return set(PERF_EVENT_IOC_DISABLE, "cannot stop a perf event"); }

void TimedEvents::work(const BpfObject& object) {
  if (longest_wait() == std::chrono::milliseconds(0)) change_rates(object.samples_by_cpu());
  processors_.look();
}

std::chrono::milliseconds TimedEvents::longest_wait() const {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(rates_.until_due(DrawnRates::Clock::now()));
  return std::max(left, std::chrono::milliseconds(0));
}

void TimedEvents::change_rates(std::span<const std::uint64_t> fired) {
  std::vector<std::uint64_t> of_events;
  for (const OfCpu& each : events_) {
    const auto place = std::ranges::find(possible_, each.cpu);
    const auto at = static_cast<std::size_t>(place - possible_.begin());
    if (place == possible_.end() || at >= fired.size()) break;
    of_events.push_back(fired[at]);
  }
  const auto rates = rates_.draw(DrawnRates::Clock::now(), of_events, events_.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] == 0) continue;
    // For cycles the kernel takes a frequency, for the clock a period.
    auto value =
        static_cast<std::uint64_t>(std::max(1.0, counts_cycles_ ? rates[i] : 1e9 / rates[i]));
    if (ioctl(events_[i].event.get(), PERF_EVENT_IOC_PERIOD, &value) != 0) ++rates_not_changed_;
  }
}

void TimedEvents::add_counts(Counters& counters) const {
  counters.others[Counter::kRatesNotChanged] = rates_not_changed_;
  counters.others[Counter::kProcessorsNotSampled] = processors_.not_sampled();
}

}  // namespace labelscope
