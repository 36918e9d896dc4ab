// Names addresses of a file in the worker, as a recording does, and measures time and memory. It is
// the part of naming.py that runs labelscope's own code.
//
//   bench_naming FILE ADDRESSES [--names OUT] [--symbols] [--here]
//
// ADDRESSES has a link-time address in hexadecimal digits on each line. OUT gets the names in the
// form of `addr2line -a -f -i`: the address, and for each function its name in the symbol table
// and its line. With --symbols, names come from symbol tables alone. --here runs the worker's tasks
// in a thread of this process, for callgrind.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "cli/profile/mapped_files.h"
#include "cli/symbol/symbolizer.h"
#include "cli/worker_tasks.h"

using namespace labelscope;       // NOLINT(google-build-using-namespace): a program of this project
using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): the same

namespace {

// Serves requests in a thread, which ends when the namer closes its end of the socket.
Result<Launched> launch_here(std::uint64_t /*most_memory*/) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error(errno, "socketpair");
  }
  std::thread([fd = ends[1]] {
    Channel channel(UniqueFd(fd), Channel::Files::kTaken);
    (void)channel.send({Message::Kind::kReady, {}, {}}, std::chrono::seconds(10));
    serve_requests(channel, kWorkerTasks);
  }).detach();
  return Launched{0, UniqueFd(ends[0])};
}

// Watches how much memory the worker has that is not only a view of a file: the kernel keeps no
// peak of that.
class AnonymousMemory {
 public:
  void watch(pid_t pid) { pid_ = pid; }
  long stop() {
    done_ = true;
    thread_.join();
    return most_;
  }

 private:
  void run() {
    while (!done_) {
      std::ifstream status("/proc/" + std::to_string(pid_.load()) + "/status");
      for (std::string line; std::getline(status, line);) {
        constexpr std::string_view kField = "RssAnon:";
        if (line.starts_with(kField))
          most_ = std::max(most_, std::atol(line.c_str() + kField.size()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::atomic<pid_t> pid_ = 0;
  std::atomic<bool> done_ = false;
  long most_ = 0;
  std::thread thread_{[this] { run(); }};
};

bool write_names(const Profile& profile, const char* path) {
  std::ofstream out(path);
  for (const Location& location : profile.locations) {
    char address[24];
    std::snprintf(address, sizeof address, "0x%016llx",
                  static_cast<unsigned long long>(location.address));
    out << address << '\n';
    for (const SourceLine& line : location.lines) {
      out << (line.system_name.empty() ? line.function : line.system_name) << '\n'
          << (line.file.empty() ? "??" : line.file) << ':' << line.line << '\n';
    }
    if (location.lines.empty()) out << "??\n??:0\n";
  }
  return out.good();
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

int measure(const char* path, const char* addresses, const char* names, bool symbols, bool here) {
  Profile profile;
  ProfileModule module;
  module.kind = ProfileModule::Kind::kFile;
  module.path = path;
  profile.modules.push_back(module);
  std::ifstream list(addresses);
  for (std::string line; std::getline(list, line);) {
    profile.locations.push_back({0, std::strtoull(line.c_str(), nullptr, 16), {}});
  }
  auto file = std::make_shared<OpenModuleFile>(::open(path, O_RDONLY | O_CLOEXEC));
  if (profile.locations.empty() || !file->valid()) {
    std::fprintf(stderr, "%s, %s: %s\n", path, addresses, std::strerror(errno));
    return 1;
  }
  AnonymousMemory anonymous;
  const auto begin = std::chrono::steady_clock::now();
  {
    FileNamer::Options options;
    options.debug_information = !symbols;
    options.launch = [&](std::uint64_t most_memory) {
      Result<Launched> launched = here ? launch_here(most_memory) : launch_own_worker(most_memory);
      if (launched) anonymous.watch(here ? ::getpid() : launched->pid);
      return launched;
    };
    FileNamer namer(std::move(options));
    symbolize(profile, {file}, namer, {});
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const long most_anonymous = anonymous.stop();
  std::size_t named = 0;
  std::size_t lined = 0;
  std::size_t frames = 0;
  for (const Location& location : profile.locations) {
    frames += location.lines.size();
    if (location.has_name()) ++named;
    if (!location.lines.empty() && location.lines.front().line != 0) ++lined;
  }
  rusage own{};
  rusage worker{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &worker);
  std::printf(
      "{\"addresses\": %zu, \"named\": %zu, \"lined\": %zu, \"frames\": %zu, \"seconds\": %.3f, "
      "\"own_cpu\": %.3f, \"worker_cpu\": %.3f, \"own_kib\": %ld, \"worker_kib\": %ld, "
      "\"worker_anonymous_kib\": %ld}\n",
      profile.locations.size(), named, lined, frames, taken.count(),
      seconds(own.ru_utime) + seconds(own.ru_stime),
      seconds(worker.ru_utime) + seconds(worker.ru_stime), own.ru_maxrss, worker.ru_maxrss,
      most_anonymous);
  const std::string& problem = profile.modules[0].symbol_problem;
  if (!problem.empty()) std::fprintf(stderr, "%s: %s\n", path, problem.c_str());
  return names == nullptr || write_names(profile, names) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (is_worker(argc, argv)) return worker_main(argv, kWorkerTasks);
  const char* names = nullptr;
  bool symbols = false;
  bool here = false;
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--here") == 0) {
      here = true;
    } else if (std::strcmp(argv[i], "--symbols") == 0) {
      symbols = true;
    } else if (std::strcmp(argv[i], "--names") == 0 && i + 1 < argc) {
      names = argv[++i];
    } else {
      argc = 0;
    }
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_naming FILE ADDRESSES [--names OUT] [--symbols] [--here]\n");
    return 2;
  }
  return measure(argv[1], argv[2], names, symbols, here);
}
