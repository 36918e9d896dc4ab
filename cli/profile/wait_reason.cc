#include "cli/profile/wait_reason.h"

#include <seccomp.h>

#include <cstdlib>
#include <memory>

namespace labelscope::cli {

std::string wait_reason(ls_sample_kind kind, std::int32_t system_call) {
  if (system_call < 0) return kind == LS_RUNNABLE ? "preempted" : "page fault";
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, system_call), &std::free);
  // The library is older than the kernel.
  return name ? std::string(name.get()) : "system call " + std::to_string(system_call);
}

}  // namespace labelscope::cli
