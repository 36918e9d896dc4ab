// This file opens perf events on each CPU, and explains the kernel's refusals.
#include "bpf/sampling/perf_events.h"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "bpf/load/kernel.h"

namespace labelscope {
namespace {

constexpr const char* kOnlineCpus = "/sys/devices/system/cpu/online";
constexpr const char* kPossibleCpus = "/sys/devices/system/cpu/possible";
constexpr const char* kMaxRate = "/proc/sys/kernel/perf_event_max_sample_rate";
constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
// No kernel is built for so many CPUs (CONFIG_NR_CPUS goes up to 8192): this bounds a wrong list.
constexpr int kMostCpus = 65536;

constexpr std::chrono::seconds kBetweenLooks{1};

// How long an event has been active, in idle, too; nothing if the kernel does not say.
std::optional<std::uint64_t> active_ns(int event) {
  struct {
    std::uint64_t count;
    std::uint64_t active_ns;
  } values{};
  if (read(event, &values, sizeof(values)) != sizeof(values)) return std::nullopt;
  return values.active_ns;
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 16> text{};
  localtime_r(&now, &local);
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool parse_number(std::string_view& text, int& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > kMostCpus) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// A ring's event is ready as soon as there is one record in it. Records have the time of their
// event by the clock of samples; both events of a ring must have one clock.
perf_event_attr with_ring() {
  perf_event_attr attributes{};
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.size = sizeof(attributes);
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1;
  return attributes;
}

// Reports executable mappings, with the file's identity.
perf_event_attr reporter_attributes() {
  perf_event_attr attributes = with_ring();
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attributes;
}

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

UniqueFd open_event(perf_event_attr attributes, int cpu) {
  return UniqueFd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

Error refused(int error) {
  if (error == EACCES || error == EPERM) {
    const std::string paranoid = first_line(kParanoid);
    int level = 0;
    std::from_chars(paranoid.data(), paranoid.data() + paranoid.size(), level);
    // Only changed kernels know levels above 2. For Debian's, CAP_PERFMON is not enough then.
    const bool above_upstream = level > 2;
    return {ErrorCode::kPermission,
            "the kernel refused to sample all CPUs: CAP_PERFMON is needed (or CAP_SYS_ADMIN), or "
            "kernel.perf_event_paranoid at 0 or less (it is " +
                paranoid + ")" +
                (above_upstream ? "; above 2, Debian's kernels ask for CAP_SYS_ADMIN: sudo sysctl "
                                  "kernel.perf_event_paranoid=2 lets CAP_PERFMON do"
                                : "")};
  }
  if (error == EMFILE || error == ENFILE) {
    return {ErrorCode::kLimit,
            "too many open files: two are needed for each CPU; raise RLIMIT_NOFILE (ulimit -n)"};
  }
  return system_error(error, "cannot open a perf event");
}

unsigned long most_samples_a_second() {
  const std::string limit = first_line(kMaxRate);
  unsigned long most = 0;
  std::from_chars(limit.data(), limit.data() + limit.size(), most);
  return most;
}

}  // namespace

Status check_frequency(std::uint32_t frequency_hz) {
  const unsigned long most = most_samples_a_second();
  if (frequency_hz == 0) {
    return Error{ErrorCode::kUnsupported, "a frequency of 0 takes no samples"};
  }
  if (most != 0 && frequency_hz > most) {
    return Error{ErrorCode::kLimit, "a frequency of " + std::to_string(frequency_hz) +
                                        " is above kernel.perf_event_max_sample_rate, which is " +
                                        std::to_string(most) + ": -F " + std::to_string(most) +
                                        " or less, or raise it (as root: sysctl -w "
                                        "kernel.perf_event_max_sample_rate=" +
                                        std::to_string(frequency_hz) + ")"};
  }
  return {};
}

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  const Error malformed{ErrorCode::kMalformed, "a list of CPUs that cannot be understood: '" +
                                                   std::string(text.substr(0, 64)) + "'"};
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::vector<int> cpus;
  while (!text.empty()) {
    int first = 0;
    if (!parse_number(text, first)) return malformed;
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!parse_number(text, last) || last < first) return malformed;
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMostCpus) return malformed;
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return malformed;
    text.remove_prefix(1);
  }
  return cpus;
}

Result<PerfEvents> PerfEvents::open(const SamplerOptions& options) {
  if (Status status = check_frequency(options.frequency_hz); !status) {
    return std::move(status).error();
  }
  auto cpus = parse_cpu_list(first_line(kOnlineCpus));
  if (!cpus) return std::move(cpus).error();
  PerfEvents events;
  if (auto possible = parse_cpu_list(first_line(kPossibleCpus))) events.possible_ = *possible;
  events.ready_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!events.ready_.valid()) return system_error(errno, "cannot wait for perf events");
  for (const int cpu : *cpus) {
    UniqueFd event = open_event(reporter_attributes(), cpu);
    if (!event.valid() && errno == ENODEV) continue;  // the CPU has gone offline meanwhile
    if (!event.valid()) return refused(errno);
    auto ring = PerfRing::map(event.get());
    if (!ring) return std::move(ring).error();
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLET;
    if (epoll_ctl(events.ready_.get(), EPOLL_CTL_ADD, event.get(), &interest) != 0) {
      return system_error(errno, "cannot wait for a perf event");
    }
    events.reporters_.push_back({cpu, std::move(event), *std::move(ring)});
  }
  if (events.reporters_.empty()) return Error{ErrorCode::kSystem, "no CPU is online"};
  return events;
}

Status PerfEvents::prepare(const SamplerOptions& options, int program_fd) {
  samples_ = samples_running(options.mode);
  if (!samples_) return {};
  Status status;
  counts_cycles_ = options.event != SampledEvent::kClock;
  if (counts_cycles_) status = open_samplers(options, true);
  const bool needs_cycles = options.event == SampledEvent::kCycles;
  if (!counts_cycles_ ||
      (!status && status.error().code == ErrorCode::kUnsupported && !needs_cycles)) {
    counts_cycles_ = false;
    status = open_samplers(options, false);
  }
  if (!status) return status;
  if (samples_waits(options.mode)) {
    name_ = counts_cycles_ ? "cycles and sched_switch" : "cpu-clock and sched_switch";
  } else {
    name_ = counts_cycles_ ? "cycles" : "cpu-clock";
  }
  rates_ = DrawnRates({.counts_cycles = counts_cycles_,
                       .mean_hz = static_cast<double>(options.frequency_hz),
                       .highest_hz = static_cast<double>(most_samples_a_second()),
                       .seed = std::random_device{}()});
  for (const SamplingEvent& each : events_) {
    if (status = attach_to_event(each.event.get(), program_fd); !status) return status;
  }
  return {};
}

// Returns kUnsupported if this kind of event does not exist on some CPU.
Status PerfEvents::open_samplers(const SamplerOptions& options, bool hardware) {
  events_.clear();
  for (const Reporter& reporter : reporters_) {
    UniqueFd event = open_event(sampler_attributes(options, hardware), reporter.cpu);
    if (!event.valid()) {
      if (hardware && (errno == ENOENT || errno == EOPNOTSUPP || errno == EINVAL)) {
        return Error{
            ErrorCode::kUnsupported,
            "the hardware does not count cycles here (a virtual machine mostly shows no counters)"};
      }
      if (errno == ENODEV) continue;
      return refused(errno);
    }
    // It reports in the same ring when the kernel pauses it.
    if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, reporter.event.get()) != 0) {
      return system_error(errno, "two perf events of a CPU cannot share a ring");
    }
    events_.push_back({reporter.cpu, std::move(event)});
  }
  if (events_.empty()) return Error{ErrorCode::kSystem, "no CPU is online"};
  return {};
}

Status PerfEvents::set(unsigned long request, const char* what) {
  for (const SamplingEvent& each : events_) {
    if (ioctl(each.event.get(), request, 0) != 0) return system_error(errno, what);
  }
  return {};
}

Status PerfEvents::enable() {
  if (samples_) change_rates({});
  return set(PERF_EVENT_IOC_ENABLE, "cannot start a perf event");
}

std::chrono::milliseconds PerfEvents::until_change() const {
  if (!samples_) return std::chrono::milliseconds::max();
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(rates_.until_due(DrawnRates::Clock::now()));
  return std::max(left, std::chrono::milliseconds(0));
}

void PerfEvents::change_rates(std::span<const std::uint64_t> fired) {
  std::vector<std::uint64_t> of_events;
  for (const SamplingEvent& each : events_) {
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

// While the machine sleeps, many go offline at once.
void PerfEvents::note_processors(const std::vector<int>& cpus, const std::string& what) {
  if (cpus.empty()) return;
  processors_not_sampled_ += cpus.size();
  std::string names;
  for (const int cpu : cpus) names += (names.empty() ? "" : ", ") + std::to_string(cpu);
  remarks_.push_back("CPU " + names + ": " + what + ", seen at " + time_of_day() +
                     "; what runs there is not sampled from then on, and only a new recording "
                     "does that");
}

void PerfEvents::look_at_processors() {
  const auto now = DrawnRates::Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  std::vector<int> lost;
  for (Reporter& reporter : reporters_) {
    const auto active = active_ns(reporter.event.get());
    if (reporter.is_lost || !active) continue;
    reporter.is_lost = *active == std::exchange(reporter.active_ns, *active);
    if (reporter.is_lost) lost.push_back(reporter.cpu);
  }
  note_processors(lost, "was offline, and the kernel does not give it its events back");
  std::vector<int> come;
  const auto online = parse_cpu_list(first_line(kOnlineCpus));
  for (const int cpu : online ? *online : std::vector<int>{}) {
    const auto known = std::ranges::find(reporters_, cpu, &Reporter::cpu);
    if (known == reporters_.end() && without_events_.insert(cpu).second) come.push_back(cpu);
  }
  note_processors(come, "came online after the start, and has no events");
}

Status PerfEvents::disable() { return set(PERF_EVENT_IOC_DISABLE, "cannot stop a perf event"); }

void PerfEvents::end_reports() {
  for (const Reporter& reporter : reporters_) {
    static_cast<void>(ioctl(reporter.event.get(), PERF_EVENT_IOC_DISABLE, 0));
  }
}

bool PerfEvents::has_reports() const {
  return std::ranges::any_of(reporters_,
                             [](const Reporter& each) { return each.ring.has_records(); });
}

void PerfEvents::drain(PerfRing::Handler& handler) {
  for (Reporter& reporter : reporters_) reporter.ring.drain(handler);
}

void PerfEvents::leave_out_losses() {
  for (Reporter& reporter : reporters_) reporter.ring.leave_out_losses();
}

}  // namespace labelscope
