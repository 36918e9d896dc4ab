// The kernel's limits of perf events, and its refusals.
#include "bpf/sampling/perf_event.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>

namespace labelscope {
namespace {

constexpr const char* kOnlineCpus = "/sys/devices/system/cpu/online";
constexpr const char* kPossibleCpus = "/sys/devices/system/cpu/possible";
constexpr const char* kMaxRate = "/proc/sys/kernel/perf_event_max_sample_rate";
constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
// No kernel is built for so many CPUs (CONFIG_NR_CPUS goes up to 8192): this bounds a wrong list.
constexpr int kMostCpus = 65536;

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

}  // namespace

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

UniqueFd open_event(perf_event_attr attributes, int cpu) {
  return UniqueFd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

Error refused_event(int error) {
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

std::optional<std::uint64_t> active_ns(int event) {
  struct {
    std::uint64_t count;
    std::uint64_t active_ns;
  } values{};
  if (read(event, &values, sizeof(values)) != sizeof(values)) return std::nullopt;
  return values.active_ns;
}

unsigned long most_samples_a_second() {
  const std::string limit = first_line(kMaxRate);
  unsigned long most = 0;
  std::from_chars(limit.data(), limit.data() + limit.size(), most);
  return most;
}

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

Result<std::vector<int>> online_cpus() { return parse_cpu_list(first_line(kOnlineCpus)); }
Result<std::vector<int>> possible_cpus() { return parse_cpu_list(first_line(kPossibleCpus)); }

}  // namespace labelscope
