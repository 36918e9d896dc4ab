// A table is found again by the same file alone, and only where no user without rights decides what
// the file contains.
#include "cli/unwind/table_key.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "labelscope/memory.h"
#include "support/catch.h"
#include "unit/symbol/temp_folder.h"
#include "unwind_table/copied_module.h"

using namespace labelscope;
using namespace labelscope::cli;
namespace fs = std::filesystem;

namespace {

void write_to(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

UniqueFd open_file(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  return fd;
}

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "61 22 0:57 / /var/lib/docker/overlay2/aa/merged rw - overlay overlay rw,lowerdir=/l\n"
    "62 22 0:58 / /mnt/0:59 rw,nosuid - tmpfs tmpfs rw\n";

// A file of root on this file system, mounted with these flags.
std::string why_not(long type, unsigned long flags, dev_t device) {
  struct stat status {};
  status.st_mode = S_IFREG | 0755;
  status.st_dev = device;
  struct statfs system {};
  system.f_type = type;
  system.f_flags = static_cast<decltype(system.f_flags)>(flags);
  return why_not_trusted(status, system, kMounts);
}

}  // namespace

TEST_CASE("table_key: files that other users may write have no key") {
  const TempFolder temporary;
  const fs::path folder = temporary.path();
  const fs::path program = folder / "program";
  write_to(program, "one");
  REQUIRE(::chmod(program.c_str(), 0666) == 0);
  CHECK(table_key_of(open_file(program)).empty());
  REQUIRE(::chmod(program.c_str(), 0644) == 0);
  CHECK_FALSE(table_key_of(open_file(program)).empty());
  const UniqueFd open_one = open_file(program);
  fs::remove(program);
  CHECK(table_key_of(open_one).empty());  // a target's memory, and not the vDSO
  if (::geteuid() != 0) return;
  write_to(program, "two");
  REQUIRE(::chmod(program.c_str(), 0644) == 0);
  REQUIRE(::chown(program.c_str(), 65534, 65534) == 0);
  CHECK(table_key_of(open_file(program)).empty());
}

TEST_CASE("table_key: a copy of the vDSO is known by its bytes") {
  const Address start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) return;
  const auto memory = open_process_memory(static_cast<Pid>(::getpid()));
  const auto one = copy_module(*memory, start, "[vdso]");
  const auto two = copy_module(*memory, start, "[vdso]");
  REQUIRE(one);
  REQUIRE(two);
  CHECK_FALSE(table_key_of(*one).empty());
  CHECK(table_key_of(*one) == table_key_of(*two));
  const char other = 'x';
  REQUIRE(::pwrite(two->get(), &other, 1, 200) == 1);
  CHECK(table_key_of(*two).empty());
}

// Device, inode, size and ctime of a file on a loop device are those of a file of the image before,
// if both were made with fixed numbers. Here, bytes beneath a mapping change without the ctime.
TEST_CASE("table_key: other bytes are another file, whatever the kernel says of both") {
  const TempFolder temporary;
  const fs::path program = fs::path(temporary.path()) / "program";
  write_to(program, std::string(100'000, 'a'));
  REQUIRE(::chmod(program.c_str(), 0644) == 0);
  const std::string first = table_key_of(open_file(program));
  write_to(program, std::string(99'999, 'a') + 'b');
  const std::string second = table_key_of(open_file(program));
  constexpr std::size_t kIdentity = 4 + 5 * 8;
  REQUIRE(first.size() == kIdentity + 16);
  REQUIRE(second.size() == first.size());
  CHECK(first.substr(kIdentity) != second.substr(kIdentity));
  write_to(program, std::string(100'000, 'a'));
  CHECK(table_key_of(open_file(program)).substr(kIdentity) == first.substr(kIdentity));
}

TEST_CASE("table_key: the end of a large file counts, too") {
  const TempFolder temporary;
  const fs::path program = fs::path(temporary.path()) / "program";
  const UniqueFd file(::open(program.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(file.valid());
  constexpr off_t kSize = (64 << 20) + (1 << 20) + 100;
  REQUIRE(::ftruncate(file.get(), kSize) == 0);
  const std::string first = table_key_of(file);
  REQUIRE_FALSE(first.empty());
  REQUIRE(::pwrite(file.get(), "x", 1, (64 << 20) + (1 << 20) + 99) == 1);
  CHECK(table_key_of(file).substr(44) != first.substr(44));
}

TEST_CASE("table_key: no file of a file system that a user may have mounted is trusted") {
  const dev_t disk = makedev(8, 1);
  CHECK(why_not(EXT4_SUPER_MAGIC, 0, disk).empty());
  CHECK(why_not(BTRFS_SUPER_MAGIC, ST_NODEV, makedev(0, 33)).empty());
  CHECK(why_not(TMPFS_MAGIC, ST_NOSUID, makedev(0, 58)).empty());
  CHECK_FALSE(why_not(0x65735546, 0, makedev(0, 60)).empty());
  CHECK_FALSE(why_not(EXT4_SUPER_MAGIC, ST_NOSUID, makedev(7, 0)).empty());
  CHECK(why_not(OVERLAYFS_SUPER_MAGIC, 0, makedev(0, 57)).empty());
  // The device of a tmpfs, a path that looks like a device, and a part of another number.
  CHECK_FALSE(why_not(OVERLAYFS_SUPER_MAGIC, 0, makedev(0, 58)).empty());
  CHECK_FALSE(why_not(OVERLAYFS_SUPER_MAGIC, 0, makedev(0, 59)).empty());
  CHECK_FALSE(why_not(OVERLAYFS_SUPER_MAGIC, 0, makedev(0, 5)).empty());
}
