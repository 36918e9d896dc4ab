// The numbers of file systems are those of <linux/magic.h>.
#include "elf/regular_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace labelscope {
namespace {

// Returns whether the kernel makes up the files of this file system. None of these stores files
// that a user has put there.
bool is_made_up(const struct statfs& system) {
  constexpr std::uint32_t kMadeUp[] = {
      PROC_SUPER_MAGIC,   SYSFS_MAGIC,         TRACEFS_MAGIC,      DEBUGFS_MAGIC, BPF_FS_MAGIC,
      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,   SELINUX_MAGIC, EFIVARFS_MAGIC,
      PSTOREFS_MAGIC,     BINFMTFS_MAGIC,      DEVPTS_SUPER_MAGIC,
  };
  // The type of f_type differs between processors; the number has 32 bits.
  const auto type = static_cast<std::uint32_t>(system.f_type);
  return std::find(std::begin(kMadeUp), std::end(kMadeUp), type) != std::end(kMadeUp);
}

bool climbs(const std::string& path) {
  return path.find("/../") != std::string::npos || path.ends_with("/..");
}

Error cannot_open() { return system_error(errno, "cannot be opened"); }

}  // namespace

Result<UniqueFd> open_regular_file(const UniqueFd& place) {
  struct stat about {};
  struct statfs system {};
  if (::fstat(place.get(), &about) != 0) return cannot_open();
  if (!S_ISREG(about.st_mode)) return Error{ErrorCode::kUnsupported, "is no regular file"};
  if (::fstatfs(place.get(), &system) != 0) return cannot_open();
  if (is_made_up(system)) {
    return Error{ErrorCode::kUnsupported,
                 "lies in a file system that the kernel makes up (/proc, /sys or the like)"};
  }
  // This opens the very file that was looked at, whatever has its name now. O_NONBLOCK keeps it
  // from waiting for the holder of a lease.
  const std::string self = "/proc/self/fd/" + std::to_string(place.get());
  UniqueFd fd(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.valid()) return fd;
  if (errno == ENOENT) {
    return Error{ErrorCode::kSystem, "cannot be opened: /proc is not mounted here"};
  }
  return cannot_open();
}

Result<UniqueFd> open_regular_file(const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) return cannot_open();
  return open_regular_file(place);
}

Result<UniqueFd> open_regular_file_below(const std::string& root, const std::string& path,
                                         int flags) {
  const UniqueFd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return cannot_open();
  open_how how{};
  how.flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd place(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof how)));
  // Kernels before 5.6 do not have openat2, and filters of system calls may not know it.
  if (!place.valid() && (errno == ENOSYS || errno == EPERM) && !climbs(path)) {
    place.reset(::open((root + path).c_str(), O_PATH | O_CLOEXEC | flags));
  }
  return place.valid() ? open_regular_file(place) : cannot_open();
}

Result<std::string> read_up_to(const UniqueFd& file, std::size_t most) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::string text;
  for (;;) {
    const std::size_t had = text.size();
    if (had == most) return text;
    text.resize(had + std::min(kPiece, most - had));
    const ssize_t got = ::read(file.get(), text.data() + had, text.size() - had);
    const int error = errno;
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) return system_error(error, "cannot be read");
    if (got == 0) return text;
  }
}

bool in_kernel_file_system(const std::string& path) {
  struct statfs system {};
  return ::statfs(path.c_str(), &system) == 0 && is_made_up(system);
}

}  // namespace labelscope
