// LiveProcess: what /proc says, and the sentences where it says no.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "elf_bytes.h"
#include "labelscope/target.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

// A child that does nothing until it is killed, or ends at once and is not reaped.
class Child {
 public:
  explicit Child(bool ends) {
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      if (ends) ::_exit(0);
      for (;;) ::pause();
    }
    siginfo_t unused;
    // WNOWAIT: it stays a zombie.
    if (ends) REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &unused, WEXITED | WNOWAIT) == 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return Pid{pid_}; }

 private:
  pid_t pid_ = 0;
};

std::unique_ptr<LiveProcess> require_open(Pid pid) {
  auto process = LiveProcess::open(pid);
  if (!process) FAIL(process.error().context);
  return *std::move(process);
}
Error require_refused(Pid pid) {
  auto process = LiveProcess::open(pid);
  REQUIRE_FALSE(process);
  return process.error();
}
bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("live_process: no process has a number that is not positive, or that nobody has") {
  for (const std::int32_t number : {0, -1, INT32_MIN}) {
    CHECK(require_refused(Pid{number}).code == ErrorCode::kVanished);
  }
  Pid gone{};
  {
    const Child child(false);
    gone = child.pid();
  }
  const Error error = require_refused(gone);
  CHECK(error.code == ErrorCode::kVanished);
  CHECK(mentions(error.context, "no process " + std::to_string(raw(gone))));
}

TEST_CASE("live_process: a zombie has ended") {
  const Child child(true);
  const Error error = require_refused(child.pid());
  CHECK(error.code == ErrorCode::kVanished);
  CHECK(mentions(error.context, "has ended"));
}

TEST_CASE("live_process: the number of a thread is told from that of its process") {
  std::atomic<pid_t> tid{0};
  std::atomic<bool> end{false};
  std::thread thread([&] {
    tid = static_cast<pid_t>(::syscall(SYS_gettid));
    tid.notify_one();
    end.wait(false);
  });
  tid.wait(0);
  auto refused = LiveProcess::open(Pid{tid.load()});
  end = true;
  end.notify_one();
  thread.join();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kNotFound);
  INFO(refused.error().context);
  CHECK(mentions(refused.error().context, "thread " + std::to_string(tid)));
  CHECK(mentions(refused.error().context, "process " + std::to_string(::getpid())));
}

TEST_CASE("live_process: threads, name and mappings are those of the process") {
  const auto process = require_open(Pid{::getpid()});
  auto threads = process->threads();
  REQUIRE(threads);
  CHECK(std::count(threads->begin(), threads->end(), Tid{::getpid()}) == 1);
  std::ifstream comm("/proc/self/comm");
  std::string name;
  std::getline(comm, name);
  CHECK(process->comm() == name);
  auto mappings = process->mappings();
  REQUIRE(mappings);
  const Mapping* own = find_mapping(*mappings, reinterpret_cast<Address>(&require_open));
  REQUIRE(own != nullptr);
  CHECK(own->executable);
  CHECK(own->path == std::filesystem::canonical("/proc/self/exe"));
}

TEST_CASE("live_process: what a process without memory maps is an error, not nothing") {
  const auto child = std::make_unique<Child>(false);
  const auto process = require_open(child->pid());
  ::kill(raw(child->pid()), SIGKILL);
  siginfo_t unused;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(raw(child->pid())), &unused, WEXITED | WNOWAIT) == 0);
  auto mappings = process->mappings();
  REQUIRE_FALSE(mappings);
  CHECK(mappings.error().code == ErrorCode::kVanished);
}

TEST_CASE("live_process: program headers are where the kernel put them") {
  const auto process = require_open(Pid{::getpid()});
  auto address = process->program_headers_address();
  REQUIRE(address);
  const ElfImage image = require_image(read_file("/proc/self/exe"));
  auto mappings = process->mappings();
  REQUIRE(mappings);
  const std::string own = std::filesystem::canonical("/proc/self/exe");
  const auto first = std::find_if(mappings->begin(), mappings->end(),
                                  [&](const Mapping& mapping) { return mapping.path == own; });
  REQUIRE(first != mappings->end());
  REQUIRE(image.program_headers_address());
  CHECK(*address == first->start + *image.program_headers_address());
}

TEST_CASE("live_process: memory is read across pages, and a hole is unreadable") {
  const auto process = require_open(Pid{::getpid()});
  const std::string text(20000, 'x');
  std::string copy(text.size(), '\0');
  CHECK(process->memory().read(reinterpret_cast<Address>(text.data()),
                               std::as_writable_bytes(std::span(copy))));
  CHECK(copy == text);
  const long page = ::sysconf(_SC_PAGESIZE);
  void* two = ::mmap(nullptr, static_cast<std::size_t>(2 * page), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(two != MAP_FAILED);
  char* second = static_cast<char*>(two) + page;
  REQUIRE(::munmap(second, static_cast<std::size_t>(page)) == 0);
  const Address border = reinterpret_cast<Address>(second);
  auto inside = read_value<std::uint64_t>(process->memory(), border - 8);
  CHECK(inside);
  auto across = read_value<std::uint64_t>(process->memory(), border - 4);
  REQUIRE_FALSE(across);
  CHECK(across.error().code == ErrorCode::kUnreadable);
  for (const Address wild : {Address{0}, Address{1} << 60, UINT64_MAX - 3}) {
    auto value = read_value<std::uint64_t>(process->memory(), wild);
    REQUIRE_FALSE(value);
    CHECK(value.error().code == ErrorCode::kUnreadable);
  }
}

TEST_CASE("live_process: memory of a process that is gone has vanished") {
  auto child = std::make_unique<Child>(false);
  const auto process = require_open(child->pid());
  child.reset();
  auto value = read_value<std::uint64_t>(process->memory(), 0x1000);
  REQUIRE_FALSE(value);
  CHECK(value.error().code == ErrorCode::kVanished);
}

TEST_CASE("live_process: a library that was replaced is still read as it is mapped") {
  const std::string original = read_file(fixture_path("libcustomlabels_gnu2.so"));
  const std::string path =
      std::string("/tmp/labelscope-replaced-") + std::to_string(::getpid()) + ".so";
  std::filesystem::copy_file(fixture_path("libcustomlabels_gnu2.so"), path);
  void* handle = ::dlopen(path.c_str(), RTLD_NOW);
  std::filesystem::remove(path);
  REQUIRE(handle != nullptr);
  std::ofstream(path) << "another file under the same name";
  const auto process = require_open(Pid{::getpid()});
  auto mappings = process->mappings();
  REQUIRE(mappings);
  const auto mapped = std::find_if(mappings->begin(), mappings->end(), [&](const Mapping& mapping) {
    return mapping.path == path + " (deleted)";
  });
  REQUIRE(mapped != mappings->end());
  auto file = process->open_file(*mapped);
  std::filesystem::remove(path);
  if (!file) {
    // Without CAP_CHECKPOINT_RESTORE there is no way, and never another file's bytes.
    CHECK((mentions(file.error().context, path)));
    skip_test(file.error().context);
  }
  CHECK(read_file("/proc/self/fd/" + std::to_string(file->get())) == original);
}

TEST_CASE("live_process: memory without a file has no file to open") {
  const auto process = require_open(Pid{::getpid()});
  auto file = process->open_file(Mapping{});
  REQUIRE_FALSE(file);
  CHECK(file.error().code == ErrorCode::kNotFound);
}

}  // namespace labelscope::test
