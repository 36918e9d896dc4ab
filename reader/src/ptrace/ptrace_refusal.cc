// This gathers the refusal from /proc, and has the sentence for each.
#include "ptrace/ptrace_refusal.h"

#include <linux/capability.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <vector>

#include "process/proc_fs.h"

namespace labelscope {
namespace {

// Returns the first number of a field; 0 if there is none.
std::uint64_t number_of(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::uint64_t capabilities(const std::string& status, std::string_view name) {
  return number_of(status_field(status, name), 16);
}

// The kernel compares the first three of the thread's four user IDs (real, effective, saved, for
// files).
std::optional<std::uint32_t> first_other(std::string_view ids, std::uint32_t own) {
  for (int i = 0; i < 3; ++i) {
    if (number_of(ids) != own) return static_cast<std::uint32_t>(number_of(ids));
    const std::size_t tab = ids.find('\t');
    if (tab == std::string_view::npos) break;
    ids.remove_prefix(tab + 1);
  }
  return std::nullopt;
}

bool is_kernel_thread(Tid tid) {
  const auto stat = read_thread_stat(tid);
  return stat && stat->of_kernel();
}

// The kernel gives the files of /proc/PID to root if the process may not be dumped.
bool is_not_dumpable(Tid tid, std::uint32_t uid) {
  struct stat found {};
  return uid != 0 && ::stat(proc_path(tid, "stat").c_str(), &found) == 0 && found.st_uid == 0;
}

std::string link_of(const std::string& path) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

// No thread has this number, so a kernel that looks for it returns ESRCH.
bool is_filtered() {
  errno = 0;
  return ::ptrace(PTRACE_SEIZE, INT_MAX - 1, nullptr, nullptr) != 0 && errno != ESRCH;
}

std::string user(std::uint32_t uid) { return uid == 0 ? "root" : "user " + std::to_string(uid); }

// Returns the reason for a thread whose IDs are not all labelscope's: the kernel compares the real,
// the effective and the saved ones.
std::string other_owner(const PtraceRefusal& refusal) {
  const bool by_user = refusal.other_uid.has_value();
  const auto name = [by_user](std::uint32_t id) {
    return by_user ? user(id) : "group " + std::to_string(id);
  };
  const std::uint32_t other = by_user ? *refusal.other_uid : *refusal.other_gid;
  const std::uint32_t real = by_user ? refusal.uid : refusal.gid;
  const std::uint32_t own = by_user ? refusal.own_uid : refusal.own_gid;
  const std::string us = " and labelscope runs as " + name(own);
  if (other == real) return "it belongs to " + name(other) + us;
  return "its program has the rights of " + name(other) + " (set-" + (by_user ? "user" : "group") +
         "-ID)" + us;
}

std::string yama_text(int scope) {
  switch (scope) {
    case 1:
      return "only a process's parents may look into it";
    case 2:
      return "only CAP_SYS_PTRACE may look into processes";
    default:
      return "no process may look into another until the next boot";
  }
}

// If root lacks a capability, it is root in a container, and sudo gives it nothing.
const char* give_capability(const PtraceRefusal& refusal) {
  return refusal.own_uid == 0 ? "give the container --cap-add SYS_PTRACE"
                              : "try sudo, or give the container --cap-add SYS_PTRACE";
}

// Returns the reason if labelscope lacks CAP_SYS_PTRACE.
std::string missing_capability(const PtraceRefusal& refusal) {
  const std::string fix = std::string(": that needs CAP_SYS_PTRACE; ") + give_capability(refusal);
  if (refusal.other_uid || refusal.other_gid) return other_owner(refusal) + fix;
  if (refusal.not_dumpable) {
    return "its process does not let others look into it (PR_SET_DUMPABLE 0, a change of its user, "
           "or a program file that its user may not read)" +
           fix;
  }
  if (refusal.more_capable) return "it has capabilities that labelscope does not have" + fix;
  if (refusal.yama && *refusal.yama > 0) {
    return "kernel.yama.ptrace_scope is " + std::to_string(*refusal.yama) + ", " +
           yama_text(*refusal.yama) + fix +
           (*refusal.yama == 1 ? ", or sysctl kernel.yama.ptrace_scope=0" : "");
  }
  if (refusal.other_user_namespace.value_or(false)) return "it is in another user namespace" + fix;
  return std::string("CAP_SYS_PTRACE is missing; ") + give_capability(refusal);
}

// Returns the reason although labelscope has CAP_SYS_PTRACE.
std::string beyond_capability(const PtraceRefusal& refusal) {
  if (refusal.other_user_namespace.value_or(false)) {
    return "it is in another user namespace, where CAP_SYS_PTRACE of this one does not count; run "
           "labelscope as root of the host, or inside of that namespace";
  }
  return "CAP_SYS_PTRACE is there, but another rule of the system forbids it: a security module "
         "(AppArmor, SELinux, SMACK) or a user namespace; its reason is in the kernel's log";
}

// Returns the processes of traces_this_process().
std::vector<std::int64_t> find_tracers() {
  // Each is the tracer of the one before. The kernel allows no circles, and no person builds a
  // longer chain.
  constexpr std::size_t kMost = 8;
  std::vector<std::int64_t> tracers;
  std::string status = read_proc_line("/proc/thread-self/status");
  while (tracers.size() < kMost) {
    const std::uint64_t thread = number_of(status_field(status, "TracerPid"));
    if (thread == 0) break;
    status = read_proc_line("/proc/" + std::to_string(thread) + "/status");
    tracers.push_back(static_cast<std::int64_t>(number_of(status_field(status, "Tgid"))));
  }
  return tracers;
}

}  // namespace

bool traces_this_process(Tid process) {
  using Clock = std::chrono::steady_clock;
  // A sampler asks a thousand times a second, and reading the file takes as long as a sample.
  constexpr std::chrono::milliseconds kFresh{5};
  thread_local Clock::time_point next_look;
  thread_local pid_t looked_as = 0;  // another one after fork()
  thread_local std::vector<std::int64_t> tracers;
  if (const auto now = Clock::now(); now >= next_look || looked_as != ::getpid()) {
    tracers = find_tracers();
    next_look = now + kFresh;
    looked_as = ::getpid();
  }
  return std::ranges::find(tracers, raw(process)) != tracers.end();
}

PtraceRefusal study_refusal(Tid tid, int errno_value) {
  PtraceRefusal refusal;
  refusal.what = "thread " + std::to_string(raw(tid));
  refusal.errno_value = errno_value;
  const std::string status = read_proc_line(proc_path(tid, "status"));
  const std::string own = read_proc_line("/proc/self/status");
  const std::string_view state = status_field(status, "State");
  refusal.ended =
      errno_value == ESRCH || status.empty() || state.starts_with('Z') || state.starts_with('X');
  refusal.tracer = static_cast<std::int64_t>(number_of(status_field(status, "TracerPid")));
  if (refusal.tracer == 0 && state.starts_with('t')) refusal.tracer = -1;
  if (refusal.tracer > 0) {
    refusal.tracer_name = read_proc_line("/proc/" + std::to_string(refusal.tracer) + "/comm");
    const std::string tracer =
        read_proc_line("/proc/" + std::to_string(refusal.tracer) + "/status");
    refusal.tracer_is_us = status_field(tracer, "Tgid") == std::to_string(::getpid());
  }
  refusal.own_process = status_field(status, "Tgid") == std::to_string(::getpid());
  refusal.traces_us =
      traces_this_process(Tid{static_cast<std::int32_t>(number_of(status_field(status, "Tgid")))});
  refusal.filtered = is_filtered();
  refusal.kernel_thread = is_kernel_thread(tid);
  const std::uint64_t held = capabilities(own, "CapEff");
  refusal.may_trace_others = ((held >> CAP_SYS_PTRACE) & 1) != 0;
  refusal.own_uid = ::getuid();
  refusal.uid = static_cast<std::uint32_t>(number_of(status_field(status, "Uid")));
  refusal.other_uid = first_other(status_field(status, "Uid"), refusal.own_uid);
  refusal.own_gid = ::getgid();
  refusal.gid = static_cast<std::uint32_t>(number_of(status_field(status, "Gid")));
  refusal.other_gid = first_other(status_field(status, "Gid"), refusal.own_gid);
  refusal.not_dumpable = is_not_dumpable(tid, refusal.uid);
  refusal.more_capable = (capabilities(status, "CapPrm") & ~capabilities(own, "CapPrm")) != 0;
  const std::string its_namespace = link_of(proc_path(tid, "ns/user"));
  if (!its_namespace.empty()) {
    refusal.other_user_namespace = its_namespace != link_of("/proc/self/ns/user");
  }
  const std::string yama = read_proc_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!yama.empty()) refusal.yama = static_cast<int>(number_of(yama));
  return refusal;
}

Error explain_refusal(const PtraceRefusal& refusal) {
  if (refusal.ended) return Error{ErrorCode::kVanished, refusal.what + " has ended"};
  const std::string start = refusal.what + " cannot be looked into: ";
  auto refused = [&](const std::string& why) { return Error{ErrorCode::kPermission, start + why}; };
  if (refusal.own_process) return refused("it is one of labelscope's own");
  if (refusal.traces_us) {
    return refused(
        "it traces labelscope (as a debugger or strace does), and each would wait for the other; "
        "leave it out, or run labelscope without it");
  }
  if (refusal.tracer_is_us) return refused("labelscope traces it already");
  if (refusal.tracer > 0) {
    const std::string name = refusal.tracer_name.empty() ? "process" : refusal.tracer_name;
    return refused("it is already traced by " + name + " (" + std::to_string(refusal.tracer) +
                   "), and a thread has one tracer at most; detach that one, or end it");
  }
  if (refusal.tracer < 0) {
    return refused(
        "it is already traced by a process outside of this container, and a thread has "
        "one tracer at most");
  }
  if (refusal.kernel_thread) {
    return refused("it is a kernel thread, and has no memory of its own");
  }
  if (refusal.errno_value == ENOSYS) {
    return refused(
        "this system has no ptrace() (a sandbox such as gVisor); run labelscope outside "
        "of it");
  }
  if (refusal.filtered) {
    return refused(
        "a seccomp filter, the container's most likely, forbids ptrace(); give it "
        "--cap-add SYS_PTRACE or another seccomp profile");
  }
  // No capability helps against this one.
  if (refusal.yama.value_or(0) >= 3) {
    return refused("kernel.yama.ptrace_scope is 3, " + yama_text(3) +
                   "; set another value at boot");
  }
  return refused(refusal.may_trace_others ? beyond_capability(refusal)
                                          : missing_capability(refusal));
}

}  // namespace labelscope
