// LiveProcess: /proc/PID and process_vm_readv.
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "labelscope/target.h"
#include "proc_fs.h"

namespace labelscope {
namespace {

class ProcessMemory final : public MemorySource {
 public:
  explicit ProcessMemory(Pid pid) : pid_(pid) {}

  Status read(Address address, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      iovec local{out.data() + done, out.size() - done};
      // The address is the other process's: it is never dereferenced here.
      iovec remote{reinterpret_cast<void*>(address + done), out.size() - done};  // NOLINT
      ssize_t got = process_vm_readv(raw(pid_), &local, 1, &remote, 1, 0);
      if (got < 0) return system_error(errno, "memory of process " + std::to_string(raw(pid_)));
      if (got == 0) return Error{ErrorCode::kUnreadable, "memory that is not mapped"};
      done += static_cast<std::size_t>(got);
    }
    return {};
  }

 private:
  Pid pid_;
};

Error gone(Pid pid) {
  return Error{ErrorCode::kVanished, "no process " + std::to_string(raw(pid))};
}

}  // namespace

// The name in the first line may contain anything but newlines, so a field starts after one.
std::string_view status_field(std::string_view status, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  std::size_t at = status.find(start);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + start.size());
  status = status.substr(0, status.find('\n'));
  status.remove_prefix(std::min(status.find_first_not_of(" \t"), status.size()));
  return status;
}

std::unique_ptr<MemorySource> open_process_memory(Pid pid) {
  return std::make_unique<ProcessMemory>(pid);
}

Result<std::string> read_proc_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, path);
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) return system_error(errno, path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

LiveProcess::LiveProcess(Pid pid) : pid_(pid), memory_(open_process_memory(pid)) {}

std::string LiveProcess::path(const char* name) const {
  return "/proc/" + std::to_string(raw(pid_)) + "/" + name;
}

Result<std::unique_ptr<LiveProcess>> LiveProcess::open(Pid pid) {
  if (raw(pid) <= 0) return gone(pid);
  std::unique_ptr<LiveProcess> process(new LiveProcess(pid));
  auto status = read_proc_file(process->path("status"));
  if (!status) {
    if (status.error().code == ErrorCode::kNotFound ||
        status.error().code == ErrorCode::kVanished) {
      return gone(pid);
    }
    return std::move(status).error();
  }
  const std::string number = std::to_string(raw(pid));
  const std::string_view group = status_field(*status, "Tgid");
  if (!group.empty() && group != number) {
    return Error{ErrorCode::kNotFound, "thread " + number + " belongs to process " +
                                           std::string(group) + ": name the process"};
  }
  const std::string_view state = status_field(*status, "State");
  if (state.starts_with('Z') || state.starts_with('X')) {
    // /proc/PID shows memory and files of the first thread only.
    if (const std::string_view threads = status_field(*status, "Threads");
        threads != "0" && threads != "1") {
      return Error{ErrorCode::kUnsupported, "the first thread of process " + number +
                                                " has ended while others run on: the kernel no "
                                                "longer shows its memory"};
    }
    return Error{ErrorCode::kVanished, "process " + number + " has ended"};
  }
  return process;
}

Result<std::vector<Mapping>> LiveProcess::mappings() const {
  auto text = read_proc_file(path("maps"));
  if (!text) {
    return text.error().code == ErrorCode::kNotFound ? gone(pid_) : std::move(text).error();
  }
  if (text->empty()) {
    return Error{ErrorCode::kVanished,
                 "process " + std::to_string(raw(pid_)) +
                     " has no memory: it has ended, or is part of the kernel"};
  }
  return parse_maps(*text);
}

Result<UniqueFd> LiveProcess::open_file(const Mapping& mapping) const {
  if (!mapping.file) return Error{ErrorCode::kNotFound, "no file behind this mapping"};
  std::array<char, 64> range;
  std::snprintf(range.data(), range.size(), "map_files/%lx-%lx",
                static_cast<unsigned long>(mapping.start), static_cast<unsigned long>(mapping.end));
  UniqueFd fd(::open(path(range.data()).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.valid()) return fd;
  int first_errno = errno;
  // Without CAP_CHECKPOINT_RESTORE: by name, in the target's own root, if it is still the same
  // file.
  fd.reset(::open((path("root") + mapping.path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return system_error(first_errno, path(range.data()) + " (" + mapping.path + ")");
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) return system_error(errno, mapping.path);
  // Device numbers differ between maps and stat on some file systems (btrfs, overlayfs): inode
  // decides.
  if (found.st_ino != mapping.file.inode || !S_ISREG(found.st_mode)) {
    return Error{ErrorCode::kNotFound,
                 mapping.path +
                     " is no longer the file that is mapped; reading the mapped one needs "
                     "CAP_CHECKPOINT_RESTORE"};
  }
  return fd;
}

std::optional<Address> LiveProcess::program_headers_address() const {
  auto bytes = read_proc_file(path("auxv"));
  if (!bytes) return std::nullopt;
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= bytes->size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, bytes->data() + at, sizeof entry);
    if (entry.a_type == AT_PHDR) return entry.a_un.a_val;
  }
  return std::nullopt;
}

Result<std::vector<Tid>> LiveProcess::threads() const {
  DIR* dir = ::opendir(path("task").c_str());
  if (dir == nullptr) return errno == ENOENT ? gone(pid_) : system_error(errno, path("task"));
  std::vector<Tid> tids;
  while (const dirent* entry = ::readdir(dir)) {
    std::string_view name = entry->d_name;
    std::int32_t tid = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (error == std::errc{} && end == name.data() + name.size()) tids.push_back(Tid{tid});
  }
  ::closedir(dir);
  if (tids.empty()) return gone(pid_);
  return tids;
}

std::string LiveProcess::comm() const {
  auto text = read_proc_file(path("comm"));
  if (!text) return {};
  if (!text->empty() && text->back() == '\n') text->pop_back();
  return *std::move(text);
}

}  // namespace labelscope
