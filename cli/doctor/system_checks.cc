// The kernel, its settings, and the rights of labelscope. Each question goes to the function that
// record asks.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "bpf/load/kernel.h"
#include "cli/doctor/checkup.h"
#include "cli/host/rights.h"
#include "cli/symbol/kernel_symbols.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

std::string setting(const std::string& name) {
  std::string path = "/proc/sys/" + name;
  std::ranges::replace(path, '.', '/');
  return read_proc_line(path);
}

void check_kernel(Checkup& checkup) {
  const std::string danger = danger_of_reading_programs();
  checkup.lines.push_back({danger.empty() ? kFine : kLimited, "kernel",
                           kernel_name() + (danger.empty() ? "" : ": " + danger),
                           danger.empty() ? "" : "a newer kernel, or --backend ptrace"});
  const bool types = has_kernel_types();
  const bool mounted = ::access("/sys/kernel", F_OK) == 0;
  checkup.lines.push_back(
      {types ? kFine : kLimited, "btf",
       types     ? "the kernel describes its types"
       : mounted ? "the kernel does not describe its types, so BPF programs cannot be fitted to it"
                 : "/sys is not mounted, so the types of the kernel are not known, and BPF "
                   "programs cannot be fitted to it",
       types     ? ""
       : mounted ? "a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build it"
                 : "mount -t sysfs sysfs /sys"});
}

void check_rights(Checkup& checkup) {
  for (const RightHeld& right :
       rights_for(kReadsTargets | kStopsThreads | kNamesKernel | kLoadsBpf)) {
    if (right.held) {
      checkup.lines.push_back({kFine, right.name, right.purpose});
      continue;
    }
    std::string upper = right.name.substr(right.name.find('_') + 1);
    std::ranges::transform(upper, upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    checkup.lines.push_back(
        {kLimited, right.name, "not held: " + std::string(right.purpose),
         right.can_be_had ? "sudo labelscope ..., or sudo setcap " + right.name +
                                "+ep (with the others that are needed) \"$(command -v labelscope)\""
                          : "nobody can have it here (it is not in the bounding set): start the "
                            "container with --cap-add " +
                                upper});
  }
}

// Yama lets a process look into others by its own rule, which only cap_sys_ptrace overrides.
void check_yama(Checkup& checkup) {
  const char* const name = "kernel.yama.ptrace_scope";
  const std::string scope = setting(name);
  const auto rights = rights_for(kReadsTargets);
  const bool may_trace = std::ranges::any_of(
      rights, [](const RightHeld& right) { return right.name == "cap_sys_ptrace" && right.held; });
  const char* const fix = "sudo labelscope ..., or sudo sysctl kernel.yama.ptrace_scope=0";
  if (scope == "1" && !may_trace) {
    checkup.lines.push_back({kLimited, name,
                             "1: without cap_sys_ptrace ptrace may look into commands that "
                             "labelscope starts, and into nothing else",
                             fix});
  } else if (scope == "2" && !may_trace) {
    checkup.lines.push_back(
        {kLimited, name, "2: without cap_sys_ptrace ptrace may look into nothing", fix});
  } else if (scope == "3") {
    checkup.lines.push_back({kLimited, name,
                             "3: no process may look into another one, whatever its rights",
                             "another value of kernel.yama.ptrace_scope in /etc/sysctl.d, and a "
                             "restart of the machine"});
  } else if (!scope.empty()) {
    checkup.lines.push_back({kFine, name, scope + " (with cap_sys_ptrace 0, 1 and 2 will do)"});
  }
}

// Explains settings that some right makes meaningless; the sampler's own answer is the verdict.
void check_settings(Checkup& checkup) {
  const auto note = [&](const char* name, const std::string& meaning) {
    const std::string value = setting(name);
    if (!value.empty()) checkup.lines.push_back({kFine, name, value + meaning});
  };
  note(
      "kernel.perf_event_paranoid",
      " (with cap_perfmon any value will do, but kernels of Debian ask for cap_sys_admin above 2)");
  note("kernel.unprivileged_bpf_disabled", " (with cap_bpf any value will do)");
  note("kernel.perf_event_max_sample_rate", " samples a second at most on each processor");
  check_yama(checkup);
  std::string lockdown = read_proc_line("/sys/kernel/security/lockdown");
  if (lockdown.find("[confidentiality]") != std::string::npos) {
    checkup.lines.push_back({kLimited, "lockdown",
                             "confidentiality: BPF programs may not read memory",
                             "start the kernel with lockdown=integrity or less"});
  } else if (!lockdown.empty()) {
    checkup.lines.push_back({kFine, "lockdown", lockdown});
  }
  const auto status = read_proc_file("/proc/self/status");
  const std::string_view filter = status ? status_field(*status, "Seccomp") : std::string_view();
  if (!filter.empty()) {
    checkup.lines.push_back({kFine, "seccomp",
                             filter == "0" ? "no filter of system calls"
                                           : "system calls are filtered: if sampling is refused "
                                             "below although rights are held, the filter (of a "
                                             "container, mostly) may be the reason"});
  }
}

void check_kernel_names(Checkup& checkup) {
  const auto symbols = read_kernel_symbols();
  const std::string restricted = setting("kernel.kptr_restrict");
  const std::string suffix = restricted.empty() ? "" : " (kernel.kptr_restrict=" + restricted + ")";
  if (symbols) {
    checkup.lines.push_back({kFine, "kernel-names", "functions of the kernel have names" + suffix});
    return;
  }
  checkup.lines.push_back(
      {kLimited, "kernel-names",
       "functions of the kernel have no names: the kernel does not show where they are" + suffix,
       "cap_syslog, and sudo sysctl kernel.kptr_restrict=1 where that is 2; --no-kernel leaves "
       "kernel frames out"});
}

}  // namespace

void check_system(Checkup& checkup) {
  check_kernel(checkup);
  check_rights(checkup);
  check_settings(checkup);
  check_kernel_names(checkup);
}

void check_sampler(const OpenedSampler& opened, Checkup& checkup) {
  const std::string event(opened.sampler->event_name());
  if (!opened.why_not_bpf.empty()) {
    checkup.lines.push_back({kLimited, "sampling", fallback_text(opened.why_not_bpf),
                             "the lines above that are not fine say what BPF lacks"});
    return;
  }
  checkup.lines.push_back({opened.remark_warns ? kLimited : kFine, "sampling",
                           "by BPF, with stacks by " + std::string(opened.call_graph->name) +
                               (opened.remark_warns ? ": " + opened.remark : "")});
  const bool counters = event != "cpu-clock";
  checkup.lines.push_back(
      {kFine, "event",
       event + (counters ? ". Whether the kernel's clock sees the same is found out in a minute: "
                           "record twice, with --event cycles and with --event clock, and give "
                           "both files to labelscope diff"
                         : ": there are no hardware counters here (a virtual machine, mostly), so "
                           "a software clock takes samples")});
}

}  // namespace labelscope::cli
