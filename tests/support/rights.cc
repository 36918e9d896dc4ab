#include "support/rights.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cstdint>
#include <cstdio>
#include <fstream>

#include "support/catch.h"

namespace labelscope::test {
namespace {

// This is PROC_USER_INIT_INO of the kernel: the inode number of the initial user namespace.
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
  // In another namespace, capabilities apply to that namespace only.
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
