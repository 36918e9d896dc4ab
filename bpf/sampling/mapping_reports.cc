#include "bpf/sampling/mapping_reports.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

#include "base/clock.h"

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
  if (early.full_since_ns || early.lost + early.malformed != 0) {
    looks_.forget();
    for (const Pid pid : processes_.pids()) changed.insert(pid);
    if (!changed.empty()) handler_.full_since_ns = early.full_since_ns.value_or(0);
  }
  for (const Pid pid : changed) tables_.look_again(pid);
  return !changed.empty();
}

// Each ring is in the order of time, and they are few beside their records.
//
// A ring that was full has lost mappings that are later than the look before. So are the samples
// that do not know of them, and none of these has been handed out.
void MappingReports::look(EventHandler& handler) {
  looked_ns_ = monotonic_ns();
  handler_.on_mapping = [&](const MappingEvent& event) {
    coming_.push_back({event, std::string(event.path)});
  };
  const std::size_t known = coming_.size();
  events_.drain(handler_);
  if (coming_.size() != known)
    std::ranges::stable_sort(coming_, {}, [](const Report& one) { return one.event.time_ns; });
  const auto lost_since = std::exchange(handler_.full_since_ns, std::nullopt);
  if (!lost_since) return;
  for (const Pid pid : processes_.pids()) tables_.on_mapping(pid);
  handler.on_mappings_lost(*lost_since);
}

void MappingReports::hand_out(Report& report, EventHandler& handler) {
  const bool is_ours = processes_.contains(report.event.pid);
  (is_ours ? concerns_us_ : concerns_others_) = true;
  if (!is_ours) return;
  report.event.path = report.path;
  tables_.on_report(report.event);
  handler.on_mapping(report.event);
}

void MappingReports::take_until(std::uint64_t time_ns, EventHandler& handler) {
  for (Report& early : std::exchange(early_, {})) {
    early.event.path = early.path;
    handler.on_mapping(early.event);
  }
  if (time_ns >= looked_ns_) look(handler);
  while (!coming_.empty() && coming_.front().event.time_ns <= time_ns) {
    hand_out(coming_.front(), handler);
    coming_.pop_front();
  }
}

void MappingReports::take(std::uint64_t until_ns, EventHandler& handler) {
  if (until_ns == 0) return;
  take_until(until_ns, handler);
  // A wait may also end by a report that was taken before.
  const bool others_alone = std::exchange(concerns_others_, false) & !concerns_us_;
  concerns_us_ = false;
  if (std::exchange(woken_, false) && others_alone) budget_.waste();
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
