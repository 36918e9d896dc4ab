// Effective capabilities of this process against what BPF sampling and reading another process
// need.
#include "cli/record/privileges.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>

namespace labelscope::cli {
namespace {

struct Needed {
  int number;
  const char* name;
  const char* why;
};
// CAP_SYS_ADMIN stands in for the first two and the last (capabilities(7)).
constexpr std::array<Needed, 2> kSampling{{
    {CAP_BPF, "CAP_BPF", "to load the sampling program"},
    {CAP_PERFMON, "CAP_PERFMON", "to sample and to read memory from the program"},
}};
constexpr Needed kPtrace{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "to look at another user's process"};

std::uint64_t effective_capabilities() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    constexpr std::string_view kName = "CapEff:\t";
    if (!line.starts_with(kName)) continue;
    std::uint64_t value = 0;
    std::from_chars(line.data() + kName.size(), line.data() + line.size(), value, 16);
    return value;
  }
  return 0;
}

bool has(std::uint64_t capabilities, int number) { return ((capabilities >> number) & 1) != 0; }

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : "unknown";
}

bool other_user(Pid target) {
  struct stat found {};
  std::string path = "/proc/" + std::to_string(raw(target));
  return ::stat(path.c_str(), &found) == 0 && found.st_uid != ::geteuid();
}

}  // namespace

std::optional<std::string> missing_privileges(Pid target) {
  std::uint64_t held = effective_capabilities();
  std::string missing;
  std::string names;
  auto need = [&](const Needed& needed) {
    missing += std::string("\n  missing  ") + needed.name + " " + needed.why;
    names += (names.empty() ? "" : ", ") + std::string(needed.name);
  };
  if (!has(held, CAP_SYS_ADMIN)) {
    for (const Needed& needed : kSampling) {
      if (!has(held, needed.number)) need(needed);
    }
  }
  if (!has(held, CAP_SYS_PTRACE) && other_user(target)) need(kPtrace);
  if (names.empty()) return std::nullopt;
  std::array<char, 24> hex;
  auto [end, error] = std::to_chars(hex.data(), hex.data() + hex.size(), held, 16);
  std::string shown(hex.data(),
                    error == std::errc{} ? static_cast<std::size_t>(end - hex.data()) : 0);
  return "cannot record process " + std::to_string(raw(target)) + ": permission is missing (" +
         names + ")" + missing + "\n  you      uid " + std::to_string(::geteuid()) +
         ", effective capabilities 0x" + shown + ", kernel.unprivileged_bpf_disabled=" +
         first_line("/proc/sys/kernel/unprivileged_bpf_disabled") +
         ", kernel.perf_event_paranoid=" + first_line("/proc/sys/kernel/perf_event_paranoid") +
         "\n  fix      sudo labelscope record ...                (this once)" +
         "\n           sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore+ep "
         "\"$(command -v labelscope)\"   (this binary, until it is replaced)" +
         "\n           in a container: --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE "
         "--cap-add CHECKPOINT_RESTORE";
}

}  // namespace labelscope::cli
