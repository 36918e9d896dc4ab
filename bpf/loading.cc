#include "bpf/loading.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace labelscope {
namespace {

// PROC_PID_INIT_INO of the kernel: the inode number of the initial pid namespace.
constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;

}  // namespace

Error load_error(int negative_errno, const LibbpfLog& log) {
  int error = -negative_errno;
  // Where a file cannot be opened, libbpf goes on without it and fails for another reason.
  if (error == EMFILE || log.last_words().find(std::strerror(EMFILE)) != std::string::npos) {
    return {ErrorCode::kLimit, "too many open files; raise RLIMIT_NOFILE (ulimit -n)"};
  }
  // The verifier says EPERM and EACCES of an access, too: no privilege helps then.
  const std::string verdict = log.verdict();
  if (error == EPERM && verdict.empty()) {
    return {ErrorCode::kPermission,
            "the kernel refused the BPF programs: CAP_BPF and CAP_PERFMON are needed, or "
            "CAP_SYS_ADMIN (before Linux 5.11 a larger RLIMIT_MEMLOCK may be what is missing)"};
  }
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
    return {ErrorCode::kUnsupported,
            "this kernel does not describe its types (/sys/kernel/btf/vmlinux is missing: it needs "
            "CONFIG_DEBUG_INFO_BTF), so BPF programs cannot be fitted to it"};
  }
  if (!verdict.empty()) {
    return {ErrorCode::kSystem, "the verifier of " + kernel_name() +
                                    " refused a BPF program, which is a defect of labelscope or of "
                                    "this kernel; it said: " +
                                    verdict};
  }
  return system_error(error, "cannot load the BPF programs (" + log.last_words() + ")");
}

std::vector<bool> kernel_has(std::initializer_list<const char*> functions) {
  LibbpfLog silence;
  std::vector<bool> found;
  btf* kernel = btf__load_vmlinux_btf();
  if (!kernel) return found;
  for (const char* function : functions) {
    found.push_back(btf__find_by_name_kind(kernel, function, BTF_KIND_FUNC) > 0);
  }
  btf__free(kernel);
  return found;
}

unsigned kernel_version() {
  utsname name{};
  unsigned major = 0;
  unsigned minor = 0;
  if (uname(&name) != 0 || std::sscanf(name.release, "%u.%u", &major, &minor) != 2) return 0;
  return major * 1000 + minor;
}

std::string kernel_name() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release : "this kernel";
}

std::uint32_t own_pid_namespace() {
  struct stat own {};
  if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino == kInitialPidNamespace) return 0;
  return static_cast<std::uint32_t>(own.st_ino);
}

// PF_IO_WORKER (5.12; another meaning before), PF_USER_WORKER (6.4).
std::uint32_t worker_flags() {
  const unsigned version = kernel_version();
  if (version >= 6004) return 0x4010;
  return version >= 5012 ? 0x10 : 0;
}

int map_fd(const bpf_object* object, const char* name) {
  const bpf_map* map = bpf_object__find_map_by_name(object, name);
  return map ? bpf_map__fd(map) : -1;
}

// An error: the compiler put something else into that section.
Status set_constants(bpf_object* object, const void* value, std::size_t size) {
  int error = -ENOENT;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (std::strstr(bpf_map__name(map), ".rodata")) {
      error = bpf_map__set_initial_value(map, value, size);
    }
  }
  if (error == 0) return {};
  return system_error(-error, "cannot configure the BPF programs");
}

}  // namespace labelscope
