#include "cli/profile/perf_maps.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "elf/regular_file.h"
#include "labelscope/target.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// A runtime that makes code, and what makes it write the names. It is recognised by a file that it
// has mapped: a program may be called anything, and load the runtime as a library.
struct Runtime {
  std::string_view file;  // begins like this
  const char* advice;
};
constexpr Runtime kRuntimes[] = {
    {"libjvm.so", "jcmd PID Compiler.perfmap writes it (Java 17 and later)"},
    {"libcoreclr.so", "DOTNET_PerfMapEnabled=1 in its environment has it written"},
    {"node", "node --perf-basic-prof writes it"},
    {"libnode.so", "node --perf-basic-prof writes it"},
    {"opcache.so", "php -d opcache.jit_debug=16 writes it"},
    {"beam.smp", "erl +JPperf map writes it"},
    {"libruby", "ruby --yjit --yjit-perf=map writes it (Ruby 3.3 and later)"},
    {"ruby", "ruby --yjit --yjit-perf=map writes it (Ruby 3.3 and later)"},
    {"libpython", "python3 -X perf writes it (Python 3.12 and later)"},
    {"python3", "python3 -X perf writes it (Python 3.12 and later)"}};
constexpr const char* kNoRuntime = "whatever has made the code can write it (perf's \"perf map\")";

std::string advice_for(const LiveProcess& process) {
  const auto mappings = process.mappings();
  if (!mappings) return kNoRuntime;
  for (const Runtime& runtime : kRuntimes) {
    for (const Mapping& mapping : *mappings) {
      const std::string_view name =
          std::string_view(mapping.path).substr(mapping.path.rfind('/') + 1);
      if (!mapping.file || !name.starts_with(runtime.file)) continue;
      std::string advice = runtime.advice;
      const std::size_t number = advice.find("PID");
      if (number != std::string::npos) {
        advice.replace(number, 3, std::to_string(raw(process.pid())));
      }
      return advice;
    }
  }
  return kNoRuntime;
}

// Reads the words of "Uid:\t0\t0\t0\t0" and similar lines.
template <class Number>
bool take_word(std::string_view& words, Number& number) {
  const std::size_t start = words.find_first_not_of(" \t");
  if (start == std::string_view::npos) return false;
  words.remove_prefix(start);
  const auto [rest, problem] = std::from_chars(words.data(), words.data() + words.size(), number);
  words.remove_prefix(static_cast<std::size_t>(rest - words.data()));
  return problem == std::errc();
}

bool same_folder(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

void PerfMaps::note(Pid pid) {
  if (makers_.size() == kMost) return;
  auto [entry, fresh] = makers_.try_emplace(pid);
  if (!fresh) return;
  Maker& maker = entry->second;
  maker.inner = pid;
  auto process = LiveProcess::open(pid);
  auto status = process ? (*process)->read_proc("status") : Result<std::string>(process.error());
  if (!status) {
    maker.problem = "its perf map was not looked for: " + status.error().context;
    return;
  }
  // one for each PID namespace, outermost first
  std::string_view numbers = status_field(*status, "NSpid");
  for (std::int32_t number = 0; take_word(numbers, number);) maker.inner = Pid{number};
  std::string_view users = status_field(*status, "Uid");
  for (int word = 0; word < 2; ++word)
    take_word(users, maker.owner);  // skips the real user for the effective one
  maker.our_root = same_folder((*process)->proc_path("root/."), "/");
  maker.advice = advice_for(**process);
  open(pid, maker);
  struct stat written {};
  if (maker.file == nullptr) {
    maker.first_bytes = 0;  // what is written later came after the first sample
  } else if (::fstat(maker.file->get(), &written) == 0) {
    maker.first_bytes = static_cast<std::uint64_t>(written.st_size);
  }
}

void PerfMaps::open(Pid pid, Maker& maker) {
  const std::string path = "/tmp/perf-" + std::to_string(raw(maker.inner)) + ".map";
  auto process = LiveProcess::open(pid);
  if (!process && !maker.our_root) {
    if (maker.problem.empty()) maker.problem = "its process has ended, and with it " + path;
    return;
  }
  const std::string root = process ? (*process)->proc_path("root") : "/";
  Result<UniqueFd> file = open_regular_file_below(root, path, O_NOFOLLOW);
  struct stat status {};
  if (!file) {
    maker.problem = file.error().code == ErrorCode::kNotFound
                        ? "there is no " + path + " with its names: " + maker.advice
                        : path + " was not opened: " + file.error().context;
  } else if (::fstat(file->get(), &status) != 0 ||
             (status.st_uid != maker.owner && status.st_uid != 0)) {
    maker.problem = path + " was not read: it belongs neither to the process's user nor to root";
  } else {
    maker.problem.clear();
    maker.file = std::make_shared<OpenModuleFile>(*std::move(file));
  }
}

PerfMaps::MapFile PerfMaps::find(Pid pid) {
  const auto known = makers_.find(pid);
  if (known == makers_.end()) {
    return {nullptr, "more than " + std::to_string(kMost) + " processes make code of their own",
            UINT64_MAX};
  }
  Maker& maker = known->second;
  if (maker.file == nullptr) open(pid, maker);
  return {maker.file, maker.problem, maker.first_bytes};
}

void PerfMaps::keep(const std::set<Pid>& pids) {
  std::erase_if(makers_, [&](const auto& entry) { return !pids.contains(entry.first); });
}

}  // namespace labelscope::cli
