#include "cli/unwind/table_key.h"

#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "labelscope/memory.h"
#include "process/proc_fs.h"
#include "unwind_table/copied_module.h"

namespace labelscope::cli {
namespace {

// It has 8 KiB.
constexpr std::uint64_t kMostOfVdso = 64 << 10;
// A file is hashed in pieces of this size. Of the part beyond kHashedWhole, every sixteenth is: two
// builds differ almost everywhere, and a program may have gigabytes of debug information.
constexpr std::size_t kPiece = 64 << 10;
constexpr std::uint64_t kHashedWhole = std::uint64_t{64} << 20;
constexpr std::uint64_t kStride = 16 * kPiece;
// A larger file has no key: to read it takes longer than to make its table, and a file without
// blocks may claim any size.
constexpr std::uint64_t kMostHashed = std::uint64_t{1} << 30;
// A machine with thousands of containers has a megabyte of mounts.
constexpr std::size_t kMostMounts = 16 << 20;

template <class T>
void append_value(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool has_overlay(std::string_view mounts, dev_t device) {
  const std::string numbers = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  bool found = false;
  for_each_mount(mounts, [&](const Mount& mount) {
    found |= mount.device == numbers && mount.type == "overlay";
  });
  return found;
}

// Fails if the file ends before `size`, or cannot be read.
bool add_content(const UniqueFd& file, std::uint64_t size, std::string& key) {
  XXH3_state_t hash;
  XXH3_128bits_reset(&hash);
  std::vector<char> piece(kPiece);
  for (std::uint64_t at = 0; at < size; at += at < kHashedWhole ? kPiece : kStride) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - at));
    std::size_t filled = 0;
    while (filled < wanted) {
      const ssize_t got = ::pread(file.get(), piece.data() + filled, wanted - filled,
                                  static_cast<off_t>(at + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      filled += static_cast<std::size_t>(got);
    }
    XXH3_128bits_update(&hash, piece.data(), filled);
  }
  append_value(key, XXH3_128bits_digest(&hash));
  return true;
}

std::string content_of(const UniqueFd& file, std::uint64_t size) {
  std::string content(size, '\0');
  const ssize_t got = ::pread(file.get(), content.data(), size, 0);
  return got == static_cast<ssize_t>(size) ? content : std::string();
}

// Returns the content of the file if it is a copy of our own vDSO, as the unwinder makes one.
std::string content_of_vdso(const UniqueFd& file, std::uint64_t size) {
  const Address start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0 || size == 0 || size > kMostOfVdso) return {};
  const auto own = copy_module(*open_process_memory(static_cast<Pid>(::getpid())), start, "[vdso]");
  if (!own) return {};
  std::string content = content_of(file, size);
  return content == content_of(*own, size) ? content : std::string();
}

}  // namespace

std::string why_not_trusted(const struct stat& status, const struct statfs& system,
                            std::string_view mounts) {
  const auto type = static_cast<long>(system.f_type);
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  if (static_cast<std::uint64_t>(status.st_size) > kMostHashed) return "it is larger than 1 GiB";
  if (type == FUSE_SUPER_MAGIC) return "a program decides what it contains (FUSE)";
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users may write it";
  if (type != TMPFS_MAGIC && (static_cast<unsigned long>(system.f_flags) & ST_NOSUID) != 0) {
    return "a user may have mounted its file system (nosuid)";
  }
  if (type == OVERLAYFS_SUPER_MAGIC && !has_overlay(mounts, status.st_dev)) {
    return "its overlayfs is not of labelscope's mount namespace";
  }
  return {};
}

std::string table_key_of(const UniqueFd& file) {
  struct stat status {};
  struct statfs system {};
  if (::fstatfs(file.get(), &system) != 0 || ::fstat(file.get(), &status) != 0) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (S_ISREG(status.st_mode) && status.st_nlink == 0) return content_of_vdso(file, size);
  // Only an overlayfs is looked for there.
  const auto mounts = static_cast<long>(system.f_type) == OVERLAYFS_SUPER_MAGIC
                          ? read_proc_file("/proc/self/mountinfo", kMostMounts)
                          : Result<std::string>(std::string());
  if (!mounts || !why_not_trusted(status, system, *mounts).empty()) return {};
  std::string key = "file";
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino), size,
        static_cast<std::uint64_t>(status.st_ctim.tv_sec),
        static_cast<std::uint64_t>(status.st_ctim.tv_nsec)}) {
    append_value(key, part);
  }
  return add_content(file, size, key) ? key : std::string();
}

}  // namespace labelscope::cli
