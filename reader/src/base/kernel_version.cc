#include "base/kernel_version.h"

#include <sys/utsname.h>

#include <cstdio>

namespace labelscope {

unsigned version_of(const char* release) {
  unsigned major = 0;
  unsigned minor = 0;
  return std::sscanf(release, "%u.%u", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

unsigned kernel_version() {
  static const unsigned version = [] {
    utsname name{};
    return uname(&name) == 0 ? version_of(name.release) : 0;
  }();
  return version;
}

// The flags are PF_IO_WORKER (since 5.12; the bit had another meaning before) and PF_USER_WORKER
// (since 6.4).
std::uint32_t worker_flags() {
  const unsigned version = kernel_version();
  if (version >= 6004) return 0x4010;
  return version >= 5012 ? 0x10 : 0;
}

}  // namespace labelscope
