#include "support/rights.h"

#include <linux/capability.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "support/catch.h"

namespace labelscope::test {
namespace {

// PROC_USER_INIT_INO of the kernel: the inode number of the initial user namespace.
constexpr ino_t kInitialUserNamespace = 0xEFFFFFFD;

bool holds(int capability) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "CapEff:") continue;
    std::uint64_t effective = 0;
    status >> std::hex >> effective;
    return ((effective >> capability) & 1) != 0;
  }
  return false;
}

}  // namespace

void skip_without_bpf() {
  struct stat own {};
  // Elsewhere capabilities are held over that namespace alone.
  if (stat("/proc/self/ns/user", &own) != 0 || own.st_ino != kInitialUserNamespace) {
    skip_test("BPF programs are loaded from the initial user namespace alone");
  }
  if (holds(CAP_SYS_ADMIN) || (holds(CAP_BPF) && holds(CAP_PERFMON))) return;
  skip_test("BPF needs CAP_BPF and CAP_PERFMON, or root");
}

void skip_without_ptrace() {
  skip_in_user_mode_emulation();
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope == 3 || (scope == 2 && !holds(CAP_SYS_PTRACE))) {
    skip_test("kernel.yama.ptrace_scope is " + std::to_string(scope) + ": nothing may be traced");
  }
}

void skip_without_watchpoints() {
#ifdef __x86_64__
  static volatile std::uint64_t watched = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    watched = 1;
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto set = [&](std::size_t number, std::uint64_t value) {
    const std::size_t place = offsetof(struct user, u_debugreg) + number * sizeof value;
    return ::ptrace(PTRACE_POKEUSER, child, place, value) == 0;
  };
  // SDM volume 3, 18.2.4: register 0 is on (L0), for writes (01), of 8 bytes (10).
  const bool set_up = set(0, reinterpret_cast<std::uint64_t>(&watched)) && set(7, 0x90001);
  ::ptrace(PTRACE_CONT, child, nullptr, nullptr);
  ::waitpid(child, &status, 0);
  const bool told = set_up && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  if (WIFSTOPPED(status)) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  if (!told) skip_test("this machine does not report changes that its debug registers watch");
#endif
}

void skip_before_linux(unsigned version, const std::string& without) {
  utsname name{};
  unsigned major = 0;
  unsigned minor = 0;
  const bool known = uname(&name) == 0 && std::sscanf(name.release, "%u.%u", &major, &minor) == 2;
  if (!known || major * 1000 + minor >= version) return;
  skip_test(std::string("Linux ") + name.release + " " + without);
}

void skip_without_bpf_snapshot() {
  skip_without_bpf();
  skip_before_linux(5018,
                    "cannot read the memory of another process from a BPF program; Linux 5.18 and "
                    "later can (bpf_copy_from_user_task)");
}

}  // namespace labelscope::test
