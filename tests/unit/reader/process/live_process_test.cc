// Tests LiveProcess: what it reads from /proc, and its messages where /proc refuses.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#include <sstream>
#include <thread>

#include "elf/elf_image.h"
#include "labelscope/target.h"
#include "process/code_mappings.h"
#include "process/named_mappings.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"
#include "unit/symbol/temp_folder.h"

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
    // With WNOWAIT it stays a zombie.
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

// Sets the arguments of this process to the bytes up to the last page.
bool call_arguments(const char* bytes, std::size_t size) {
  std::ifstream file("/proc/self/stat");
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream fields(text.str().substr(text.str().rfind(')') + 2));
  std::vector<std::uint64_t> stat(3);  // counted as in proc(5), from 1
  for (std::string field; fields >> field;)
    stat.push_back(std::strtoull(field.c_str(), nullptr, 10));
  if (stat.size() < 52) return false;
  prctl_mm_map map{};
  map.start_code = stat[26];
  map.end_code = stat[27];
  map.start_stack = stat[28];
  map.start_data = stat[45];
  map.end_data = stat[46];
  map.start_brk = stat[47];
  map.brk = reinterpret_cast<std::uint64_t>(::sbrk(0));
  map.arg_start = reinterpret_cast<std::uint64_t>(bytes);
  map.arg_end = map.arg_start + size;
  map.env_start = stat[50];
  map.env_end = stat[51];
  map.exe_fd = static_cast<std::uint32_t>(-1);
  return ::prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) == 0;
}

long most_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;  // KiB
}

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

TEST_CASE("live_process: no process has a number that is not positive, or that is not in use") {
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

TEST_CASE("live_process: the number of a thread is distinguished from that of its process") {
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
  skip_in_user_mode_emulation();
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
  skip_in_user_mode_emulation();
  auto child = std::make_unique<Child>(false);
  const auto process = require_open(child->pid());
  child.reset();
  auto value = read_value<std::uint64_t>(process->memory(), 0x1000);
  REQUIRE_FALSE(value);
  CHECK(value.error().code == ErrorCode::kVanished);
}

TEST_CASE("live_process: a library that was replaced is still read as it is mapped") {
  skip_in_user_mode_emulation();
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
    // Without CAP_CHECKPOINT_RESTORE the file cannot be opened, and another file's bytes are never
    // returned.
    CHECK((mentions(file.error().context, path)));
    skip_test(file.error().context);
  }
  CHECK(read_file("/proc/self/fd/" + std::to_string(file->get())) == original);
}

TEST_CASE("live_process: what is mapped under the name of a FIFO or a device is not opened") {
  const TempFolder folder;
  const std::string path = folder.path() + "/queue";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  struct stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(::inotify_add_watch(watch.get(), path.c_str(), IN_OPEN) >= 0);
  Mapping mapping;
  mapping.end = 0x1000;  // nothing is mapped there, so the name decides
  mapping.file = {0, 1, about.st_ino};
  mapping.path = path;
  const auto file = require_open(Pid{::getpid()})->open_file(mapping);
  REQUIRE_FALSE(file);
  CHECK(mentions(file.error().context, path + " is no regular file"));
  inotify_event event{};
  CHECK(::read(watch.get(), &event, sizeof event) < 0);
}

TEST_CASE("live_process: of a command line that is all of the memory its beginning is read") {
  skip_in_user_mode_emulation();
  constexpr std::size_t kSize = std::size_t{512} << 20;
  void* bytes = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(bytes != MAP_FAILED);
  std::fill_n(static_cast<char*>(bytes), 8192, 'a');
  int report[2];
  REQUIRE(::pipe2(report, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const char done = call_arguments(static_cast<const char*>(bytes), kSize - 4096) ? 1 : 0;
    if (::write(report[1], &done, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char done = 0;
  const bool told = ::read(report[0], &done, 1) == 1;
  const long before = most_memory();
  const std::string line = told ? require_open(Pid{child})->command_line() : "";
  const long after = most_memory();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(bytes, kSize);
  ::close(report[0]);
  ::close(report[1]);
  REQUIRE(told);
  if (done == 0) skip_test("prctl(PR_SET_MM_MAP) is refused here");
  CHECK(line.size() == 4096);
  CHECK(line.find_first_not_of('a') == std::string::npos);
  CHECK(after - before < (64 << 10));
}

TEST_CASE("live_process: memory without a file has no file to open") {
  const auto process = require_open(Pid{::getpid()});
  auto file = process->open_file(Mapping{});
  REQUIRE_FALSE(file);
  CHECK(file.error().code == ErrorCode::kNotFound);
}

TEST_CASE("live_process: code mappings are the executable ones of all mappings") {
  const Child child(false);
  const auto process = LiveProcess::open(child.pid());
  REQUIRE(process);
  const auto same_as_all = [&](const LiveProcess& of) {
    auto all = of.mappings();
    const auto code = code_mappings(of);
    REQUIRE(all);
    REQUIRE(code);
    // The kernel shows it to everyone, and it is no mapping of the process.
    std::erase_if(
        *all, [](const Mapping& each) { return !each.executable || each.path == "[vsyscall]"; });
    std::vector<Mapping> found = *code;
    std::erase_if(found, [](const Mapping& each) { return each.path == "[vsyscall]"; });
    REQUIRE(found.size() == all->size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i, found[i].path);
      CHECK(found[i].start == (*all)[i].start);
      CHECK(found[i].end == (*all)[i].end);
      CHECK(found[i].file_offset == (*all)[i].file_offset);
      CHECK(found[i].readable == (*all)[i].readable);
      CHECK(found[i].writable == (*all)[i].writable);
      CHECK(found[i].file == (*all)[i].file);
      CHECK(found[i].path == (*all)[i].path);
    }
    return found.size();
  };
  CHECK(same_as_all(**process) >= 2);
  // Code that is in no file is there, too.
  const auto own = LiveProcess::open(Pid{::getpid()});
  REQUIRE(own);
  const std::size_t before = same_as_all(**own);
  void* made = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(made != MAP_FAILED);
  CHECK(same_as_all(**own) == before + 1);
  ::munmap(made, 4096);
}

TEST_CASE("live_process: of thousands of mappings without a name, planning gets the first ones") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t kCount = 4 * kMostUnnamed;
  void* area = ::mmap(nullptr, kCount * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(area != MAP_FAILED);
  // Every other page is memory that can be written, and one is code.
  for (std::size_t i = 0; i < kCount; i += 2) {
    const int protection = i == kCount / 2 ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
    REQUIRE(::mprotect(static_cast<std::byte*>(area) + i * page, page, protection) == 0);
  }
  const Child child(false);  // has them, too, and maps nothing else meanwhile
  const auto process = require_open(child.pid());
  const auto few = named_mappings(*process);
  const auto all = process->mappings();
  REQUIRE(few);
  REQUIRE(all);
  CHECK(all->size() >= kCount);
  std::vector<Address> expected;
  std::size_t unnamed = 0;
  for (const Mapping& mapping : *all) {
    const bool named = mapping.file || !mapping.path.empty() || mapping.executable;
    const bool searched = !named && mapping.readable && unnamed < kMostUnnamed;
    unnamed += searched ? 1 : 0;
    if (named || searched) expected.push_back(mapping.start);
  }
  CHECK(unnamed == kMostUnnamed);
  std::vector<Address> got;
  for (const Mapping& mapping : *few) got.push_back(mapping.start);
  CHECK(got == expected);
  ::munmap(area, kCount * page);
}

}  // namespace labelscope::test
