#include "bpf/sampling/mapping_reports.h"

#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

namespace labelscope {

// Nobody has looked in the rings since the last call, and they have room again. What was lost until
// now is no loss, because everything is looked at again.
bool MappingReports::take_early() {
  PerfRing::Handler early;
  std::set<Pid> changed;
  early.on_mapping = [&](const MappingEvent& event) {
    looks_.forget(event.pid);
    if (!processes_.contains(event.pid)) return;
    changed.insert(event.pid);
    early_.push_back({event, std::string(event.path)});
  };
  events_.drain(early);
  events_.leave_out_losses();
  handler_.malformed += early.malformed;
  if (early.was_full || early.lost + early.malformed != 0) {
    looks_.forget();
    for (const Pid pid : processes_.pids()) changed.insert(pid);
    handler_.was_full |= !changed.empty();
  }
  for (const Pid pid : changed) tables_.look_again(pid);
  return !changed.empty();
}

void MappingReports::take(EventHandler& handler) {
  for (Early& early : std::exchange(early_, {})) {
    early.event.path = early.path;
    handler.on_mapping(early.event);
  }
  bool concerns_us = false;
  bool concerns_others = false;
  handler_.on_mapping = [&](const MappingEvent& event) {
    const bool is_ours = processes_.contains(event.pid);
    (is_ours ? concerns_us : concerns_others) = true;
    if (!is_ours) return;
    tables_.on_mapping(event.pid);
    handler.on_mapping(event);
  };
  const std::uint64_t lost = handler_.lost;
  events_.drain(handler_);
  // A wait may also end by a report that was taken before.
  if (std::exchange(woken_, false) && concerns_others && !concerns_us) budget_.waste();
  if (!std::exchange(handler_.was_full, false) && handler_.lost == lost) return;
  for (const Pid pid : processes_.pids()) tables_.on_mapping(pid);
  handler.on_mappings_lost();
}

Status MappingReports::add_to(int epoll) {
  epoll_ = epoll;
  // Each wait that a report has ended disables this, until the budget allows another one.
  epoll_event interest{};
  interest.events = EPOLLONESHOT;
  interest.data.fd = events_.ready_fd();
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, interest.data.fd, &interest) == 0) return {};
  return system_error(errno, "cannot wait for mappings");
}

Result<std::chrono::milliseconds> MappingReports::let_wake() {
  using std::chrono::milliseconds;
  if (wakes_) return milliseconds::max();
  wakes_ = budget_.spend(WakeupBudget::Clock::now());
  if (!wakes_) return std::chrono::ceil<milliseconds>(budget_.until_next());
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLONESHOT;
  interest.data.fd = events_.ready_fd();
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, interest.data.fd, &interest) != 0)
    return system_error(errno, "cannot wait for mappings");
  // A report that has come since the last look may have made the descriptor ready for the call
  // above alone.
  return events_.has_reports() ? milliseconds(0) : milliseconds::max();
}

void MappingReports::on_ready(int fd) {
  if (fd != events_.ready_fd()) return;
  wakes_ = false;
  woken_ = true;
}

void MappingReports::add_counts(Counts& counts) const {
  counts[Counter::kMappingEventsLost] += handler_.lost;
  counts[Counter::kMappingEventsMalformed] += handler_.malformed;
  counts[Counter::kThrottled] += handler_.throttled;
}

}  // namespace labelscope
