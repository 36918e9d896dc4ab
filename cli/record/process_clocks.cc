#include "cli/record/process_clocks.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/clock.h"
#include "bpf/sampling/perf_event.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// The last thread of a process that has ended leaves the processor for good a moment after it has
// become a zombie, and its clock may be a tick behind until then.
constexpr std::uint64_t kLastMoment = 10'000'000;

std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
  return more - std::min(more, less);
}

// Adds without leaving kUnknown.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > ProcessClocks::Bounds::kUnknown - b ? ProcessClocks::Bounds::kUnknown : a + b;
}

}  // namespace

bool KernelClocks::is_zombie(Pid pid) {
  const auto stat = read_thread_stat("/proc/" + std::to_string(raw(pid)) + "/stat");
  return stat && stat->state == 'Z' && stat->threads <= 1;
}

std::uint64_t KernelClocks::read_processor_clock() {
  // musl's sysconf() counts the processors that labelscope itself may use.
  static const std::uint64_t count = [] {
    const auto present = parse_cpu_list(read_proc_line("/sys/devices/system/cpu/present"));
    if (present && !present->empty()) return std::uint64_t{present->size()};
    return static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF));
  }();
  return monotonic_ns() * count;
}

// The eighth number of the first line of /proc/stat.
std::uint64_t KernelClocks::read_stolen_clock() {
  const std::string line = read_proc_line("/proc/stat");
  const char* at = line.data();
  const char* const end = at + line.size();
  std::uint64_t ticks = 0;
  at = std::find_if(at, end, [](char c) { return c >= '0' && c <= '9'; });
  for (int i = 0; i < 8; ++i) {
    while (at != end && *at == ' ') ++at;
    const auto parsed = std::from_chars(at, end, ticks);
    if (parsed.ec != std::errc{}) return 0;
    at = parsed.ptr;
  }
  return ticks * (1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

void ProcessClocks::expect_start() {
  started_at_ = clocks_.processors();
  if (!group_) return;
  if (const auto now = group_()) {
    group_life_.least_before = *now;
  } else {
    group_ = nullptr;
  }
}

void ProcessClocks::start() {
  if (group_) group_life_.most_before = group_();
}

void ProcessClocks::expect(Pid pid) {
  const auto now = clocks_.process(pid);
  lives_[pid] = {.least_before = now.value_or(0), .most_before = {}, .least_end = 0};
}

void ProcessClocks::begin(Pid pid) {
  const auto now = clocks_.process(pid);
  if (now) lives_[pid].most_before = now;
}

void ProcessClocks::fork(Pid pid, bool before_start) {
  // The end of what had this number before was not reported.
  if (const auto known = lives_.find(pid); known != lives_.end()) add(pid, known->second, {});
  lives_[pid] = {.least_before = 0, .most_before = 0, .least_end = 0};
  if (before_start) begin(pid);
}

void ProcessClocks::begin_unknown(Pid pid) {
  lives_.erase(pid);
  bounds_[pid].most_ns = Bounds::kUnknown;
}

void ProcessClocks::add(Pid pid, const Life& life, std::optional<std::uint64_t> most_end) {
  Bounds& bounds = bounds_[pid];
  if (life.most_before) bounds.least_ns += difference(life.least_end, *life.most_before);
  bounds.most_ns =
      most_end ? sum(bounds.most_ns, difference(*most_end, life.least_before)) : Bounds::kUnknown;
}

void ProcessClocks::end(Pid pid) {
  const auto known = lives_.find(pid);
  if (known == lives_.end()) return;
  std::optional<std::uint64_t> most_end;
  // This comes before the time: a state that changes meanwhile makes the bound wider, never false.
  const bool is_final = clocks_.stands_still(pid);
  if (const auto last = clocks_.process(pid)) {
    // While the sampler stops, its clocks of threads stand still already.
    if (!is_stopping_) known->second.least_end = *last;
    if (is_final) most_end = *last + kLastMoment;
  }
  add(pid, known->second, most_end);
  lives_.erase(known);
}

void ProcessClocks::expect_stop() {
  is_stopping_ = true;
  read_ends();
}

void ProcessClocks::read_ends() {
  cut_at_ = clocks_.processors();
  for (auto& [pid, life] : lives_) {
    if (const auto now = clocks_.process(pid)) life.least_end = *now;
  }
  if (group_) group_life_.least_end = group_().value_or(0);
}

void ProcessClocks::stop() {
  if (std::exchange(has_stopped_, true)) return;
  cut();
  lives_.clear();
}

// What is the end of a window is the beginning of the next one.
void ProcessClocks::cut() {
  const auto go_on = [](Life& life, std::optional<std::uint64_t> now) {
    life = {.least_before = std::max(life.least_before, life.least_end),
            .most_before = now,
            .least_end = 0};
  };
  for (auto& [pid, life] : lives_) {
    const auto now = clocks_.process(pid);
    add(pid, life, now);
    go_on(life, now);
  }
  most_of_all_ = clocks_.processors() - std::exchange(started_at_, cut_at_);
  const auto last = group_ ? group_() : std::nullopt;
  // The group may have been removed meanwhile.
  if (last && group_life_.most_before && group_life_.least_end != 0) {
    of_group_.least_ns = difference(group_life_.least_end, *group_life_.most_before);
    of_group_.most_ns = difference(*last, group_life_.least_before) + kLastMoment;
  }
  go_on(group_life_, last);
}

void ProcessClocks::begin_window() {
  bounds_.clear();
  of_group_ = {0, Bounds::kUnknown};
}

}  // namespace labelscope::cli
