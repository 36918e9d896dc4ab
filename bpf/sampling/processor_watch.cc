#include "bpf/sampling/processor_watch.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "bpf/sampling/perf_event.h"

namespace labelscope {
namespace {

constexpr std::chrono::seconds kBetweenLooks{1};

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 16> text{};
  localtime_r(&now, &local);
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

}  // namespace

// While the machine sleeps, many go offline at once.
void ProcessorWatch::note(const std::vector<int>& cpus, const std::string& what) {
  if (cpus.empty()) return;
  not_sampled_ += cpus.size();
  std::string names;
  for (const int cpu : cpus) names += (names.empty() ? "" : ", ") + std::to_string(cpu);
  remarks_.push_back("CPU " + names + ": " + what + ", seen at " + time_of_day() +
                     "; what runs there is not sampled from then on, and only a new recording "
                     "does that");
}

void ProcessorWatch::look() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  const auto events = events_.of_cpus();
  seen_.resize(events.size());
  std::vector<int> lost;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto active = active_ns(events[i].event.get());
    Seen& seen = seen_[i];
    if (seen.is_lost || !active) continue;
    seen.is_lost = *active == std::exchange(seen.active_ns, *active);
    if (seen.is_lost) lost.push_back(events[i].cpu);
  }
  note(lost, "was offline, and the kernel does not give it its events back");
  std::vector<int> come;
  const auto online = online_cpus();
  for (const int cpu : online ? *online : std::vector<int>{}) {
    const bool known = std::ranges::any_of(events, [&](const auto& each) { return each.cpu == cpu; });
    if (!known && without_events_.insert(cpu).second) come.push_back(cpu);
  }
  note(come, "came online after the start, and has no events");
}

}  // namespace labelscope
