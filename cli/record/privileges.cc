// Compares the effective capabilities of this process with what BPF sampling and reading another
// process need.
#include "cli/record/privileges.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>

#include "base/text.h"

namespace labelscope::cli {
namespace {

struct Needed {
  int number;
  const char* name;
  const char* why;
};
// CAP_SYS_ADMIN includes the first two and the last (capabilities(7)).
constexpr std::array<Needed, 2> kSampling{{
    {CAP_BPF, "CAP_BPF", "to load the sampling program"},
    {CAP_PERFMON, "CAP_PERFMON", "to sample and to read memory from the program"},
}};
constexpr Needed kPtrace{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "to look at another user's process"};

// This opens no file, so it works where no descriptor is left.
std::uint64_t effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (::syscall(SYS_capget, &header, held.data()) != 0) return 0;
  return held[0].effective | std::uint64_t{held[1].effective} << 32;
}

bool has(std::uint64_t capabilities, int number) { return ((capabilities >> number) & 1) != 0; }

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : "unknown";
}

bool of_another_user(Pid target) {
  struct stat found {};
  std::string path = "/proc/" + std::to_string(raw(target));
  return ::stat(path.c_str(), &found) == 0 && found.st_uid != ::geteuid();
}

class Shortage {
 public:
  explicit Shortage(const Targets& targets)
      : held_(effective_capabilities()),
        example_(targets.first().front()),
        is_command_(targets.is_command()) {}
  bool holds(int number) const { return has(held_, number); }
  void need(const Needed& needed) {
    if (holds(needed.number)) return;
    lines_ += std::string("\n  missing  ") + needed.name + " " + needed.why;
    names_ += (names_.empty() ? "" : ", ") + std::string(needed.name);
  }
  bool none() const { return names_.empty(); }
  const std::string& names() const { return names_; }
  // Needed for processes of other users, if there are any.
  void need_to_look_at(const Targets& targets) {
    const auto other = std::ranges::find_if(targets.first(), of_another_user);
    if (other == targets.first().end()) return;
    if (none()) example_ = *other;
    need(kPtrace);
  }
  // The reason why nothing can be recorded, and the user that labelscope runs as.
  std::string head() const {
    return "cannot record " +
           (is_command_ ? "the command" : "process " + std::to_string(raw(example_))) +
           ": permission is missing (" + names_ + ")" + lines_ + "\n  you      uid " +
           std::to_string(::geteuid()) + ", effective capabilities " + hex(held_);
  }

 private:
  std::uint64_t held_;
  Pid example_;  // the first process that cannot be recorded
  bool is_command_;
  std::string lines_;
  std::string names_;
};

// If root lacks capabilities, it is root of a container, where sudo does not help.
std::string fixes(const char* of_users, const char* of_containers) {
  std::string text = "\n  fix      ";
  if (::geteuid() != 0) {
    text += std::string("sudo labelscope record ...                (this once)\n           ") +
            of_users + "\n           ";
  }
  return text + "in a container: " + of_containers;
}

}  // namespace

std::string doctor_text(Pid pid) {
  return "labelscope doctor -p " + std::to_string(raw(pid)) + " says what is missing";
}

std::string doctor_text(const Targets& targets) {
  return targets.is_command() ? "labelscope doctor says what is missing"
                              : doctor_text(targets.refused());
}

std::optional<MissingPrivileges> missing_for_bpf(const Targets& targets) {
  Shortage shortage(targets);
  if (!shortage.holds(CAP_SYS_ADMIN)) {
    for (const Needed& needed : kSampling) shortage.need(needed);
  }
  shortage.need_to_look_at(targets);
  if (shortage.none()) return std::nullopt;
  return MissingPrivileges{
      shortage.names(),
      shortage.head() + ", kernel.unprivileged_bpf_disabled=" +
          first_line("/proc/sys/kernel/unprivileged_bpf_disabled") +
          ", kernel.perf_event_paranoid=" + first_line("/proc/sys/kernel/perf_event_paranoid") +
          fixes("sudo setcap "
                "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore+ep "
                "\"$(command -v labelscope)\"   (this binary, until it is replaced)",
                "--cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add "
                "CHECKPOINT_RESTORE")};
}

std::optional<MissingPrivileges> missing_for_ptrace(const Targets& targets) {
  Shortage shortage(targets);
  shortage.need_to_look_at(targets);
  if (shortage.none()) return std::nullopt;
  return MissingPrivileges{
      shortage.names(),
      shortage.head() + fixes("as the user that the process runs as", "--cap-add SYS_PTRACE")};
}

}  // namespace labelscope::cli
