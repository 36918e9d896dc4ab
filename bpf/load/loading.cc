// libbpf has one printer for the whole process, so LibbpfLog has one buffer behind one lock.
#include "bpf/load/loading.h"

#include <bpf/libbpf.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include "bpf/load/kernel.h"

namespace labelscope {
namespace {

// This is the kernel's PROC_PID_INIT_INO, the inode number of the initial pid namespace.
constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;

// The verifier's log may have megabytes; the verdict is at its end.
constexpr std::size_t kKept = 16384;
constexpr std::size_t kLastWords = 600;
// libbpf puts these lines around the verifier's log, which it shows only for a refused program.
constexpr std::string_view kVerdictBegins = "-- BEGIN PROG LOAD LOG --\n";
constexpr std::string_view kVerdictEnds = "-- END PROG LOAD LOG --";

std::mutex one_at_a_time;
std::string text;
// Whether libbpf has reported that it has no files left. That line may not be among those kept.
bool lacked_files = false;
libbpf_print_fn_t previous = nullptr;

__attribute__((format(printf, 2, 0))) int keep(libbpf_print_level level, const char* format,
                                               std::va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::va_list again;
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, format, arguments);
  if (length > 0) {
    std::string message(static_cast<std::size_t>(length) + 1, '\0');
    std::vsnprintf(message.data(), message.size(), format, again);
    message.pop_back();
    text += message;
    lacked_files |= message.find(std::strerror(EMFILE)) != std::string::npos;
    if (text.size() > kKept) text.erase(0, text.size() - kKept);
  }
  va_end(again);
  return 0;
}

std::string end_of(std::string_view said) {
  if (said.size() > kLastWords) {
    said.remove_prefix(said.size() - kLastWords);
    said.remove_prefix(std::min(said.find('\n') + 1, said.size()));  // whole lines
  }
  std::string line;
  for (char c : said) line += c == '\n' ? ' ' : c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

LibbpfLog::LibbpfLog() {
  one_at_a_time.lock();
  text.clear();
  lacked_files = false;
  previous = libbpf_set_print(keep);
}

LibbpfLog::~LibbpfLog() {
  libbpf_set_print(previous);
  one_at_a_time.unlock();
}

std::string LibbpfLog::last_words() const { return end_of(text); }

std::string LibbpfLog::verdict() const {
  const std::size_t end = text.rfind(kVerdictEnds);
  if (end == std::string::npos) return {};
  std::string_view said = std::string_view(text).substr(0, end);
  // The beginning of a long log was not kept.
  if (const std::size_t begin = said.rfind(kVerdictBegins); begin != std::string_view::npos)
    said.remove_prefix(begin + kVerdictBegins.size());
  return end_of(said);
}

namespace {

// While libbpf finds out what the kernel can do, and reads its types, it has a few files open, and
// so has the thread that looks at targets meanwhile.
constexpr std::size_t kFilesOfLibbpf = 10;

std::size_t count_of_files(bpf_object* object) {
  std::size_t count = kFilesOfLibbpf;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) count += bpf_map__autocreate(map) ? 1 : 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) count += bpf_program__autoload(program) ? 1 : 0;
  return count;
}

// Returns how many files this process may still open; 0 if it cannot open one to find out.
std::size_t files_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return SIZE_MAX;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), &::closedir);
  if (!open) return errno == EMFILE ? 0 : SIZE_MAX;
  std::size_t used = 0;
  while (const dirent* entry = ::readdir(open.get())) used += entry->d_name[0] != '.' ? 1 : 0;
  --used;  // that of the folder
  return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

Error too_few_files(const std::string& detail = {}) {
  return {ErrorCode::kLimit, "too many open files" + detail + "; raise RLIMIT_NOFILE (ulimit -n)"};
}

}  // namespace

// If libbpf lacks a file while it finds out what the kernel can do, it takes that for a lack of the
// kernel, and fails later for a reason that is not the true one. So this looks first.
Status load_all(bpf_object* object, const LibbpfLog& log) {
  const std::size_t needed = count_of_files(object);
  if (const std::size_t left = files_left(); left < needed) {
    return too_few_files(": the BPF programs need " + std::to_string(needed) + ", and " +
                         std::to_string(left) + " are left");
  }
  const int error = bpf_object__load(object);
  return error == 0 ? Status{} : Status{load_error(error, log)};
}

Error load_error(int negative_errno, const LibbpfLog& log) {
  int error = -negative_errno;
  // If a file cannot be opened, libbpf goes on without it and fails for another reason, perhaps
  // much later.
  if (error == EMFILE || lacked_files) {
    return too_few_files();
  }
  // The verifier returns EPERM and EACCES for a refused access, too, and then no privilege helps.
  const std::string verdict = log.verdict();
  if (error == EPERM && verdict.empty()) {
    return {ErrorCode::kPermission,
            "the kernel refused the BPF programs: CAP_BPF and CAP_PERFMON are needed, or "
            "CAP_SYS_ADMIN (before Linux 5.11 a larger RLIMIT_MEMLOCK may be what is missing)"};
  }
  if (!has_kernel_types()) {
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
  Error failed = system_error(error, "cannot load the BPF programs (" + log.last_words() + ")");
  // libbpf's ESRCH is not about a process, but about types of the kernel that it did not find.
  if (failed.code == ErrorCode::kVanished) failed.code = ErrorCode::kSystem;
  return failed;
}

std::uint32_t own_pid_namespace() {
  struct stat own {};
  if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino == kInitialPidNamespace) return 0;
  return static_cast<std::uint32_t>(own.st_ino);
}

int map_fd(const bpf_object* object, const char* name) {
  const bpf_map* map = bpf_object__find_map_by_name(object, name);
  return map ? bpf_map__fd(map) : -1;
}

// Only the configuration is in the section of constants. If the compiler has put another constant
// there, the sizes differ, and libbpf refuses the value.
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
