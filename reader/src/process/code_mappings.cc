// Since Linux 6.11 an ioctl of /proc/PID/maps finds the next mapping of a kind. The numbers are
// those of the kernel's include/uapi/linux/fs.h (procmap_query), which Debian 12 does not have yet.
//
// Code without a file may be a copy of a file's code, and only its neighbours show that
// (copied_text.h): then the whole list is read, as before Linux 6.11.
#include "process/code_mappings.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace labelscope {
namespace {

struct MappingQuery {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t address;  // asked for
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t permissions;
  std::uint64_t page_size;
  std::uint64_t file_offset;
  std::uint64_t inode;
  std::uint32_t device_major;
  std::uint32_t device_minor;
  std::uint32_t name_size;  // of the buffer, and then of the name with its zero
  std::uint32_t build_id_size;
  std::uint64_t name;
  std::uint64_t build_id;
};
static_assert(sizeof(MappingQuery) == 104, "as the kernel has it");
constexpr unsigned long kAsk = _IOWR('f', 17, MappingQuery);  // NOLINT: a macro of the kernel
constexpr std::uint64_t kReadable = 0x1;
constexpr std::uint64_t kWritable = 0x2;
constexpr std::uint64_t kExecutable = 0x4;
constexpr std::uint64_t kThisOrNext = 0x10;

// Returns nothing if the kernel cannot be asked, or if that is not enough.
std::optional<std::vector<Mapping>> ask_for_code(const LiveProcess& process) {
  const UniqueFd maps(::open(process.proc_path("maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!maps.valid()) return std::nullopt;
  std::vector<Mapping> all;
  std::array<char, PATH_MAX> name;
  for (std::uint64_t address = 0;;) {
    MappingQuery query{};
    query.size = sizeof query;
    query.flags = kExecutable | kThisOrNext;
    query.address = address;
    query.name = reinterpret_cast<std::uintptr_t>(name.data());
    query.name_size = name.size();
    if (::ioctl(maps.get(), kAsk, &query) != 0) {
      if (errno != ENOENT) return std::nullopt;
      return all.empty() ? std::nullopt : std::optional(std::move(all));
    }
    Mapping mapping;
    mapping.start = query.start;
    mapping.end = query.end;
    mapping.file_offset = query.file_offset;
    mapping.readable = (query.permissions & kReadable) != 0;
    mapping.writable = (query.permissions & kWritable) != 0;
    mapping.executable = true;
    mapping.file = {query.device_major, query.device_minor, query.inode};
    if (query.name_size != 0) mapping.path.assign(name.data(), query.name_size - 1);
    const bool may_be_copy =
        mapping.file ? mapping.path.starts_with("/anon_hugepage") : mapping.path != "[vdso]";
    if (query.end <= address || may_be_copy) return std::nullopt;
    address = query.end;
    all.push_back(std::move(mapping));
  }
}

}  // namespace

Result<std::vector<Mapping>> code_mappings(const OneLook& look) {
  if (!look.look()) return look.look().error();
  std::vector<Mapping> mappings;
  std::ranges::copy_if(*look.look(), std::back_inserter(mappings), &Mapping::executable);
  return mappings;
}

Result<std::vector<Mapping>> code_mappings(const LiveProcess& process) {
  if (auto asked = ask_for_code(process)) return *std::move(asked);
  auto mappings = process.mappings();
  if (mappings) std::erase_if(*mappings, [](const Mapping& each) { return !each.executable; });
  return mappings;
}

}  // namespace labelscope
