// LiveProcess uses /proc/PID and process_vm_readv.
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
#include <span>

#include "elf/regular_file.h"
#include "labelscope/target.h"
#include "process/copied_text.h"
#include "process/maps_parser.h"
#include "process/proc_fs.h"

namespace labelscope {
namespace {

Status read_memory(Tid tid, Address address, std::span<std::byte> out) {
  address &= address_bits(kHostMachine);
  std::size_t done = 0;
  while (done < out.size()) {
    iovec local{out.data() + done, out.size() - done};
    // The address is one of the other process: it is never dereferenced here.
    iovec remote{reinterpret_cast<void*>(address + done), out.size() - done};  // NOLINT
    ssize_t got = process_vm_readv(raw(tid), &local, 1, &remote, 1, 0);
    if (got < 0) return system_error(errno, "memory of process " + std::to_string(raw(tid)));
    if (got == 0) return Error{ErrorCode::kUnreadable, "memory that is not mapped"};
    done += static_cast<std::size_t>(got);
  }
  return {};
}

class ProcessMemory final : public MemorySource {
 public:
  explicit ProcessMemory(Pid pid) : pid_(pid) {}
  Status read(Address address, std::span<std::byte> out) const override {
    return read_memory(Tid{raw(pid_)}, address, out);
  }

 private:
  Pid pid_;
};

Error gone(Pid pid) {
  return Error{ErrorCode::kVanished, "no process " + std::to_string(raw(pid))};
}

// Returns the error for a process without a thread that runs. Its number is in use until its parent
// has asked for its exit status.
Error ended(Pid pid, std::string_view status) {
  std::string text = "process " + std::to_string(raw(pid)) + " has ended";
  std::int32_t parent = 0;
  const std::string_view number = status_field(status, "PPid");
  std::from_chars(number.data(), number.data() + number.size(), parent);
  if (parent > 0) {
    text += "; it is a zombie until its parent, process " + std::to_string(parent) + " (" +
            read_proc_line(proc_path(Tid{parent}, "comm")) + "), asks for its exit status";
  }
  return Error{ErrorCode::kVanished, std::move(text)};
}

Result<std::vector<Tid>> list_threads(Pid pid) {
  const std::string path = "/proc/" + std::to_string(raw(pid)) + "/task";
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return errno == ENOENT ? gone(pid) : system_error(errno, path);
  std::vector<Tid> tids;
  while (const dirent* entry = ::readdir(dir)) {
    std::string_view name = entry->d_name;
    std::int32_t tid = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (error == std::errc{} && end == name.data() + name.size()) tids.push_back(Tid{tid});
  }
  ::closedir(dir);
  return tids;
}

std::optional<Tid> find_running_thread(Pid pid) {
  auto tids = list_threads(pid);
  if (!tids) return std::nullopt;
  for (Tid tid : *tids) {
    auto stat = read_thread_stat(tid);
    if (stat && !stat->is_ending()) return tid;
  }
  return std::nullopt;
}

// Returns the link to a mapping's file, in the folder of the process.
std::array<char, 64> map_files(const Mapping& mapping) {
  std::array<char, 64> range;
  std::snprintf(range.data(), range.size(), "map_files/%lx-%lx",
                static_cast<unsigned long>(mapping.start), static_cast<unsigned long>(mapping.end));
  return range;
}

FileTimes times_of(const struct stat& found) {
  const auto in_ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {found.st_size, in_ns(found.st_mtim), in_ns(found.st_ctim)};
}

Result<UniqueFd> named(Result<UniqueFd> file, const std::string& path) {
  if (file) return file;
  return Error{file.error().code, path + " " + file.error().context};
}

}  // namespace

Result<FileTimes> Target::file_times(const Mapping& mapping) const {
  const auto file = open_file(mapping);
  if (!file) return file.error();
  struct stat found {};
  if (::fstat(file->get(), &found) != 0) return system_error(errno, mapping.path);
  return times_of(found);
}

Result<UniqueFd> Target::open_root() const {
  return Error{ErrorCode::kUnsupported, "it has no folders of its own"};
}

Result<Target::OpenedFile> Target::open_with_times(const Mapping& mapping) const {
  const auto times = file_times(mapping);
  auto file = open_file(mapping);
  if (!file) return std::move(file).error();
  return OpenedFile{*std::move(file), times ? std::optional(*times) : std::nullopt};
}

std::unique_ptr<MemorySource> open_process_memory(Pid pid) {
  return std::make_unique<ProcessMemory>(pid);
}

class LiveProcess::Memory final : public MemorySource {
 public:
  explicit Memory(const LiveProcess& process) : process_(process) {}
  Status read(Address address, std::span<std::byte> out) const override {
    Status status = read_memory(process_.door_, address, out);
    if (status || status.error().code != ErrorCode::kVanished) return status;
    return process_.find_other_door() ? read_memory(process_.door_, address, out) : status;
  }

 private:
  const LiveProcess& process_;
};

LiveProcess::LiveProcess(Pid pid, Tid door)
    : pid_(pid), door_(door), memory_(std::make_unique<Memory>(*this)) {
  program_ = program();
}

bool LiveProcess::find_other_door() const {
  const Tid before = door_;
  const auto other = find_running_thread(pid_);
  if (!other || *other == before) return false;
  door_ = *other;
  return true;
}

// /proc also has a folder for every thread, which it does not list. It shows the same memory.
std::string LiveProcess::proc_path(const char* name) const {
  return labelscope::proc_path(door_, name);
}

// The files of a thread that has ended are empty, so another thread is used then.
Result<std::string> LiveProcess::read_proc(const char* name) const {
  auto text = read_proc_file(proc_path(name));
  if (text && !text->empty()) return text;
  return find_other_door() ? read_proc_file(proc_path(name)) : std::move(text);
}

Result<std::unique_ptr<LiveProcess>> LiveProcess::open(Pid pid) {
  if (raw(pid) <= 0) return gone(pid);
  const std::string number = std::to_string(raw(pid));
  auto status = read_proc_file("/proc/" + number + "/status");
  if (!status) {
    if (status.error().code == ErrorCode::kNotFound ||
        status.error().code == ErrorCode::kVanished) {
      return gone(pid);
    }
    return std::move(status).error();
  }
  const std::string_view group = status_field(*status, "Tgid");
  if (!group.empty() && group != number) {
    return Error{ErrorCode::kNotFound, "thread " + number + " belongs to process " +
                                           std::string(group) + ": name the process"};
  }
  Tid door{raw(pid)};
  const std::string_view state = status_field(*status, "State");
  if (!state.empty() && has_ended(state.front())) {
    // /proc/PID shows memory and files of the first thread, which has ended, so this uses another
    // thread.
    auto other = find_running_thread(pid);
    if (!other) return ended(pid, *status);
    door = *other;
  } else if (status_field(*status, "VmSize").empty()) {
    const auto stat = read_thread_stat(door);
    if (stat && stat->of_kernel()) {
      return Error{ErrorCode::kNotFound,
                   "process " + number + " (" + stat->name +
                       ") is a kernel thread, which has no memory of its own"};
    }
  }
  std::unique_ptr<LiveProcess> process(new LiveProcess(pid, door));
  // The numbers are those in each pid namespace from labelscope's to its own.
  const std::string_view numbers = status_field(*status, "NSpid");
  process->counts_as_we_do_ = numbers.find_first_of(" \t") == std::string_view::npos;
  return process;
}

Tid LiveProcess::number_inside(Tid tid) const {
  if (counts_as_we_do_) return tid;
  auto status = read_proc_file(labelscope::proc_path(tid, "status"));
  if (!status) return Tid{};
  std::string_view numbers = status_field(*status, "NSpid");
  numbers.remove_prefix(numbers.find_last_of(" \t") + 1);
  std::int32_t inside = 0;
  std::from_chars(numbers.data(), numbers.data() + numbers.size(), inside);
  return Tid{inside};
}

Result<std::vector<Mapping>> LiveProcess::mappings() const {
  auto mappings = read_maps(proc_path("maps"));
  if ((!mappings || mappings->empty()) && find_other_door()) {
    mappings = read_maps(proc_path("maps"));
  }
  if (!mappings) {
    return mappings.error().code == ErrorCode::kNotFound ? gone(pid_) : std::move(mappings);
  }
  if (mappings->empty()) {
    return Error{ErrorCode::kVanished,
                 "process " + std::to_string(raw(pid_)) + " has no memory any more: it is ending"};
  }
  name_copied_text(*this, *mappings);
  return mappings;
}

Result<FileTimes> LiveProcess::file_times(const Mapping& mapping) const {
  struct stat found {};
  if (mapping.file && ::stat(proc_path(map_files(mapping).data()).c_str(), &found) == 0) {
    return times_of(found);
  }
  return Target::file_times(mapping);
}

Result<UniqueFd> LiveProcess::open_root() const {
  const std::string path = proc_path("root");
  UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return system_error(errno, path);
  return root;
}

// Spares a second search for the mapping in the kernel.
Result<Target::OpenedFile> LiveProcess::open_with_times(const Mapping& mapping) const {
  auto file = open_file(mapping);
  if (!file) return std::move(file).error();
  struct stat found {};
  if (::fstat(file->get(), &found) != 0) return system_error(errno, mapping.path);
  return OpenedFile{*std::move(file), times_of(found)};
}

Result<UniqueFd> LiveProcess::open_file(const Mapping& mapping) const {
  if (!mapping.file) return Error{ErrorCode::kNotFound, "no file behind this mapping"};
  const std::array<char, 64> range = map_files(mapping);
  const UniqueFd mapped(::open(proc_path(range.data()).c_str(), O_PATH | O_CLOEXEC));
  if (mapped.valid()) return named(open_regular_file(mapped), mapping.path);
  const int first_errno = errno;
  // Without CAP_CHECKPOINT_RESTORE, map_files may not be used. So this opens the name in the
  // target's own root, and accepts it if it is still the same file.
  auto fd = open_regular_file_below(proc_path("root"), mapping.path);
  if (!fd && fd.error().code == ErrorCode::kUnsupported) return named(std::move(fd), mapping.path);
  if (!fd) return system_error(first_errno, proc_path(range.data()) + " (" + mapping.path + ")");
  struct stat found {};
  if (::fstat(fd->get(), &found) != 0) return system_error(errno, mapping.path);
  // On some file systems (btrfs, overlayfs) the device number is different in maps and in stat. So
  // the inode decides.
  if (found.st_ino != mapping.file.inode) {
    return Error{ErrorCode::kNotFound,
                 mapping.path +
                     " is no longer the file that is mapped; reading the mapped one needs "
                     "CAP_CHECKPOINT_RESTORE"};
  }
  return fd;
}

// Identifies the program by its auxiliary vector, which holds a random address (new with each
// exec).
std::string LiveProcess::program() const {
  auto bytes = read_proc("auxv");
  return bytes ? *std::move(bytes) : std::string();
}

std::optional<Address> LiveProcess::auxiliary_value(std::uint64_t type) const {
  const std::string bytes = program();
  return find_auxiliary(std::as_bytes(std::span(bytes)), type);
}

std::optional<Address> LiveProcess::program_headers_address() const {
  return auxiliary_value(AT_PHDR);
}

std::optional<Address> LiveProcess::title_address() const {
  const auto stat = read_thread_stat(proc_path("stat"));
  return stat && stat->arguments != 0 ? std::optional<Address>(stat->arguments) : std::nullopt;
}

std::optional<Address> LiveProcess::entry_point() const { return auxiliary_value(AT_ENTRY); }

std::unique_ptr<LiveProcess> LiveProcess::fork_parent() const {
  auto status = read_proc("status");
  if (!status) return nullptr;
  const std::string_view number = status_field(*status, "PPid");
  std::int32_t parent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parent);
  if (error != std::errc{}) return nullptr;
  auto process = open(Pid{parent});
  if (!process || (*process)->program_.empty() || (*process)->program_ != program_) return nullptr;
  return *std::move(process);
}

Result<std::vector<Tid>> LiveProcess::threads() const {
  auto tids = list_threads(pid_);
  if (tids && tids->empty()) return gone(pid_);
  return tids;
}

std::string LiveProcess::comm() const {
  return read_proc_line(labelscope::proc_path(Tid{raw(pid_)}, "comm"));
}

std::string LiveProcess::thread_name(Tid tid) const {
  return read_proc_line("/proc/" + std::to_string(raw(pid_)) + "/task/" + std::to_string(raw(tid)) +
                        "/comm");
}

std::string LiveProcess::command_line() const {
  // A process can make /proc/PID/cmdline as long as its memory (prctl(2)).
  constexpr std::size_t kMost = 4096;
  auto text = read_proc_file(proc_path("cmdline"), kMost);
  if (!text) return {};
  while (!text->empty() && text->back() == '\0') text->pop_back();
  std::ranges::replace(*text, '\0', ' ');
  return *std::move(text);
}

}  // namespace labelscope
