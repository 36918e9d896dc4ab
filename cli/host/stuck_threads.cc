#include "cli/host/stuck_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// What the arguments of a call name.
enum class Names { kDescriptor, kPath, kPathAt, kProcess };

struct Call {
  long number;
  const char* doing;
  Names names;
};

// Calls that may wait for a program that supplies files or memory.
constexpr Call kCalls[] = {
    {SYS_read, "reading", Names::kDescriptor},
    {SYS_pread64, "reading", Names::kDescriptor},
    {SYS_readv, "reading", Names::kDescriptor},
    {SYS_preadv, "reading", Names::kDescriptor},
    {SYS_process_vm_readv, "reading memory of", Names::kProcess},
    {SYS_openat, "opening", Names::kPathAt},
    {SYS_openat2, "opening", Names::kPathAt},
    {SYS_newfstatat, "looking at", Names::kPathAt},
    {SYS_statx, "looking at", Names::kPathAt},
    {SYS_faccessat, "looking at", Names::kPathAt},
    {SYS_readlinkat, "looking at", Names::kPathAt},
    {SYS_fstat, "looking at", Names::kDescriptor},
    {SYS_fstatfs, "looking at", Names::kDescriptor},
    {SYS_getdents64, "listing", Names::kDescriptor},
    {SYS_close, "closing", Names::kDescriptor},
#ifdef __x86_64__
    {SYS_open, "opening", Names::kPath},
    {SYS_stat, "looking at", Names::kPath},
    {SYS_lstat, "looking at", Names::kPath},
    {SYS_access, "looking at", Names::kPath},
    {SYS_readlink, "looking at", Names::kPath},
#endif
};

// The number of a call, its first two arguments, and the instruction behind it.
struct Arguments {
  long number = 0;
  std::array<std::uint64_t, 2> values{};
  std::uint64_t returns_to = 0;
};

// The text is "17 0x9 0x7ffd...", "running", or "-1 ..." outside of any call.
std::optional<Arguments> parse(std::string_view text) {
  Arguments parsed;
  const char* end = text.data() + text.size();
  auto at = std::from_chars(text.data(), end, parsed.number);
  if (at.ec != std::errc{} || parsed.number < 0) return std::nullopt;
  for (std::uint64_t& value : parsed.values) {
    constexpr std::string_view kBefore = " 0x";
    if (!std::string_view(at.ptr, end).starts_with(kBefore)) return std::nullopt;
    at = std::from_chars(at.ptr + kBefore.size(), end, value, 16);
    if (at.ec != std::errc{}) return std::nullopt;
  }
  constexpr std::string_view kHex = "0x";
  const std::size_t last = text.rfind(kHex);  // there are two at least
  std::from_chars(text.data() + last + kHex.size(), end, parsed.returns_to, 16);
  return parsed;
}

// The text is in labelscope's own memory, and stays there while the thread waits in its call. It is
// read as a foreign text all the same: the thread may go on at any moment.
std::string own_text(std::uint64_t address) {
  std::string text(PATH_MAX, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    constexpr std::size_t kPage = 4096;
    const std::size_t rest = kPage - (address + filled) % kPage;
    const iovec local{text.data() + filled, std::min(rest, text.size() - filled)};
    const iovec remote{reinterpret_cast<void*>(address + filled), local.iov_len};  // NOLINT
    const ssize_t got = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
    if (text.find('\0') < filled) break;
  }
  return text.substr(0, std::min(text.find('\0'), filled));
}

std::string path_of_descriptor(std::uint64_t descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(static_cast<int>(descriptor));
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path;
}

std::string described(const Call& call, const Arguments& arguments) {
  std::string name;
  switch (call.names) {
    case Names::kDescriptor:
      name = path_of_descriptor(arguments.values[0]);
      break;
    case Names::kPath:
      name = own_text(arguments.values[0]);
      break;
    case Names::kPathAt:
      name = own_text(arguments.values[1]);
      // What an empty path looks at is the descriptor itself.
      if (name.empty()) name = path_of_descriptor(arguments.values[0]);
      break;
    case Names::kProcess:
      name = "process " + std::to_string(static_cast<pid_t>(arguments.values[0]));
      break;
  }
  return std::string(call.doing) + " " + (name.empty() ? "a file" : name);
}

const Call* find_call(long number) {
  const auto* found = std::ranges::find(kCalls, number, &Call::number);
  return found == std::end(kCalls) ? nullptr : found;
}

std::vector<pid_t> own_threads() {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), &::closedir);
  while (const dirent* entry = tasks ? ::readdir(tasks.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc{}) {
      threads.push_back(tid);
    }
  }
  return threads;
}

}  // namespace

bool StuckThreads::may_wait_at_end() {
  constexpr std::size_t kMostMounts = 16 << 20;
  const auto mounts = read_proc_file("/proc/self/mountinfo", kMostMounts);
  if (!mounts) return true;
  // By the number of a mount: whether its file system answers by itself.
  std::map<std::string, bool, std::less<>> answers;
  for_each_mount(*mounts, [&](const Mount& mount) {
    bool is_remote = false;
    for (const char* each : {"fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "virtiofs"}) {
      is_remote |= mount.type.starts_with(each);
    }
    answers.emplace(mount.id, !is_remote);
  });
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), &::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string number = entry->d_name;
    std::uint64_t descriptor = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), descriptor).ec !=
        std::errc{}) {
      continue;
    }
    const std::string path = path_of_descriptor(descriptor);
    if (!path.starts_with('/') || path.starts_with("/memfd:")) continue;
    const auto info = read_proc_file("/proc/self/fdinfo/" + number);
    if (!info) continue;
    const auto known = answers.find(status_field(*info, "mnt_id"));
    if (known == answers.end() || !known->second) return true;
  }
  return !open;
}

void end_process(int status) {
  const pid_t self = ::getpid();
  // A copy of this process, but with the same table of descriptors, and of this thread alone. It
  // makes only system calls.
  const long left = ::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (left == 0) {
    ::setsid();  // no signal of the terminal is for it
    const timespec moment{0, 1'000'000};
    while (::getppid() == self) ::nanosleep(&moment, nullptr);
  }
  _exit(status);
}

namespace {

// What /proc shows of the call, and of how long the thread has had a processor.
struct Shown {
  std::string call;
  std::string all;
};
Shown shown_of(pid_t tid) {
  const std::string folder = "/proc/self/task/" + std::to_string(tid) + "/";
  Shown shown{read_proc_line(folder + "syscall"), {}};
  shown.all = shown.call + " " + read_proc_line(folder + "schedstat");
  return shown;
}

}  // namespace

bool StuckCall::is_going_on() const { return shown_of(tid).all == text; }

std::vector<StuckCall> StuckThreads::look(std::chrono::nanoseconds passed) {
  std::vector<StuckCall> stuck;
  std::map<pid_t, Seen> seen;
  for (const pid_t tid : own_threads()) {
    const Shown shown = shown_of(tid);
    const auto arguments = parse(shown.call);
    const Call* call = arguments ? find_call(arguments->number) : nullptr;
    if (call == nullptr) continue;
    Seen now{shown.all, {}, 0};
    if (const auto before = seen_.find(tid);
        before != seen_.end() && before->second.call == now.call) {
      now.waited = before->second.waited + passed;
      now.returned = before->second.returned;
    }
    if (now.waited > longest_ * (now.returned + 1)) {
      ++now.returned;
      stuck.push_back(
          {tid, now.waited, described(*call, *arguments), arguments->returns_to, shown.all});
    }
    seen.emplace(tid, std::move(now));
  }
  seen_ = std::move(seen);
  return stuck;
}

}  // namespace labelscope::cli
