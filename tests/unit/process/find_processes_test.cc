// Finds processes in a made-up /proc, whose processes have any name that a process can have.
#include "cli/process/find_processes.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cli/process/cgroup.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;
namespace fs = std::filesystem;

namespace {

const std::string kIdOfWeb(64, 'a');
const std::string kIdOfDb = "b1b2" + std::string(60, 'c');

// Numbers above the largest that a kernel assigns: none is that of the test itself.
constexpr int kBase = 5'000'000;

class MadeUpProc {
 public:
  MadeUpProc() {
    std::string pattern = fs::temp_directory_path() / "find_processes_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ + "/proc");
  }
  MadeUpProc(const MadeUpProc&) = delete;
  MadeUpProc& operator=(const MadeUpProc&) = delete;
  ~MadeUpProc() { fs::remove_all(root_); }

  struct Process {
    std::string comm = "program";
    std::string exe = "/usr/bin/program";
    std::string arguments = "program";
    std::string cgroup = "0::/\n";
    std::string tcp = {};
    std::uint64_t socket = 0;
    char state = 'S';
    std::string net = "net:[1]";
  };
  Pid add(int number, const Process& process) {
    const std::string folder = root_ + "/proc/" + std::to_string(kBase + number);
    fs::create_directories(folder + "/fd");
    fs::create_directories(folder + "/ns");
    fs::create_directories(folder + "/net");
    write(folder + "/comm", process.comm + "\n");
    write(folder + "/cmdline", process.arguments + std::string(1, '\0'));
    write(folder + "/cgroup", process.cgroup);
    write(folder + "/stat", std::to_string(kBase + number) + " (" + process.comm + ") " +
                                process.state + " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
    write(folder + "/net/tcp", "  sl  local_address rem_address   st ...\n" + process.tcp);
    if (!process.exe.empty()) fs::create_symlink(process.exe, folder + "/exe");
    fs::create_symlink(process.net, folder + "/ns/net");
    if (process.socket != 0) {
      fs::create_symlink("socket:[" + std::to_string(process.socket) + "]", folder + "/fd/3");
    }
    return Pid{kBase + number};
  }
  void end(Pid pid) { fs::remove_all(root_ + "/proc/" + std::to_string(raw(pid))); }
  static void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  ProcessFinder finder(std::vector<TargetName> names) const {
    return ProcessFinder(std::move(names), {root_ + "/proc", root_ + "/docker", root_ + "/podman"});
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

std::vector<Pid> found(const MadeUpProc& proc, NamedBy by, const std::string& word) {
  auto matches = proc.finder({{by, word}}).find();
  INFO((matches ? "" : matches.error().context));
  REQUIRE(matches);
  REQUIRE(matches->size() == 1);
  return matches->front().pids;
}

std::string refused(const MadeUpProc& proc, NamedBy by, const std::string& word) {
  auto matches = proc.finder({{by, word}}).find();
  REQUIRE_FALSE(matches);
  CHECK(matches.error().code == ErrorCode::kNotFound);
  return matches.error().context;
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

using Pids = std::vector<Pid>;

}  // namespace

TEST_CASE("find: a name is comm, the file or the first argument, and all that have it count") {
  MadeUpProc proc;
  const Pid by_comm = proc.add(1, {.comm = "nginx", .exe = "/x", .arguments = "nginx: worker"});
  const Pid by_file =
      proc.add(2, {.comm = "a-very-long-nam", .exe = "/opt/a-very-long-name-of-a-server"});
  const Pid by_argument = proc.add(3, {.comm = "x", .exe = "", .arguments = "/srv/nginx"});
  proc.add(4, {.comm = "nginxx"});
  CHECK(found(proc, NamedBy::kName, "nginx") == Pids{by_comm, by_argument});
  CHECK(found(proc, NamedBy::kName, "a-very-long-name-of-a-server") == Pids{by_file});
  CHECK(found(proc, NamedBy::kName, "a-very-long-nam") == Pids{by_file});
}

TEST_CASE("find: zombies and threads of the kernel have no part") {
  MadeUpProc proc;
  proc.add(1, {.comm = "gone", .state = 'Z'});
  CHECK(says(refused(proc, NamedBy::kName, "gone"), "no process is called that"));
}

TEST_CASE("find: a process whose first thread has ended is found through another one") {
  MadeUpProc made;
  const Pid pid = made.add(1, {.comm = "leader", .exe = "", .arguments = "", .state = 'Z'});
  const std::string thread = made.root() + "/proc/" + std::to_string(raw(pid)) + "/task/" +
                             std::to_string(kBase + 2) + "/";
  MadeUpProc::write(thread + "stat", "2 (worker) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
  MadeUpProc::write(thread + "cmdline", std::string("leader\0", 7));
  fs::create_symlink("/usr/bin/long-name-of-a-leader", thread + "exe");
  for (const char* word : {"leader", "long-name-of-a-leader"}) {
    const auto found = made.finder({{NamedBy::kName, word}}).find();
    REQUIRE(found);
    CHECK(found->at(0).pids == std::vector<Pid>{pid});
  }
}

TEST_CASE("find: hostile names are compared as bytes, and escaped and cut where they are shown") {
  MadeUpProc proc;
  const std::string lines = "two\nlines)";
  const Pid two = proc.add(1, {.comm = lines});
  proc.add(2, {.comm = "\x1b[31mred"});
  proc.add(3, {.comm = "../../etc"});
  const Pid digits = proc.add(4, {.comm = "4242"});
  const std::string very_long(3000, 'y');
  proc.add(5, {.comm = "y", .cgroup = "0::/" + very_long + ".service\n"});
  CHECK(found(proc, NamedBy::kName, lines) == Pids{two});
  CHECK(found(proc, NamedBy::kName, "4242") == Pids{digits});
  const std::string near = refused(proc, NamedBy::kName, "\x1b[31mre");
  CHECK(near.find('\x1b') == std::string::npos);
  CHECK(says(near, "\\x1b[31mred"));
  CHECK(refused(proc, NamedBy::kUnit, "x").size() < 400);
  CHECK(refused(proc, NamedBy::kContainer, "../../etc/passwd").size() < 400);
}

TEST_CASE("find: what matches nothing says what is near") {
  MadeUpProc proc;
  proc.add(1, {.comm = "postgres"});
  proc.add(2, {.comm = "sshd"});
  const std::string text = refused(proc, NamedBy::kName, "postgre");
  CHECK(says(text, "-p postgre: no process is called that; there is postgres"));
  CHECK_FALSE(says(text, "sshd"));
  CHECK(says(refused(proc, NamedBy::kName, "PostGres"), "there is postgres"));
  CHECK(says(refused(proc, NamedBy::kName, "/usr/lib/postgresql/15/bin/postgres"),
             "a name has no folder: postgres"));
  CHECK(says(refused(proc, NamedBy::kName, "4242"), "a process ID is written without ="));
  CHECK_FALSE(says(refused(proc, NamedBy::kName, "apache"), "there"));
}

TEST_CASE("find: a unit is a component of a path of any hierarchy") {
  MadeUpProc proc;
  const Pid one = proc.add(1, {.cgroup = "0::/system.slice/nginx.service\n"});
  const Pid below =
      proc.add(2, {.cgroup = "1:name=systemd:/system.slice/nginx.service/worker\n0::/\n"});
  const Pid escaped = proc.add(3, {.cgroup = "0::/system.slice/_cpu.service\n"});
  proc.add(4, {.cgroup = "0::/system.slice/not-nginx.service\n"});
  CHECK(found(proc, NamedBy::kUnit, "nginx") == Pids{one, below});
  CHECK(found(proc, NamedBy::kUnit, "nginx.service") == Pids{one, below});
  CHECK(found(proc, NamedBy::kUnit, "cpu") == Pids{escaped});
  CHECK(found(proc, NamedBy::kUnit, "system.slice").size() == 4);
  CHECK(says(refused(proc, NamedBy::kUnit, "ngin"), "there are nginx.service, "));
}

TEST_CASE("find: a cgroup has those below it, but not its namesakes") {
  MadeUpProc proc;
  const Pid in = proc.add(1, {.cgroup = "0::/app\n"});
  const Pid below = proc.add(2, {.cgroup = "0::/app/deep:er/x\n"});
  proc.add(3, {.cgroup = "0::/application\n"});
  CHECK(found(proc, NamedBy::kCgroup, "/app") == Pids{in, below});
  CHECK(found(proc, NamedBy::kCgroup, "app/") == Pids{in, below});
  CHECK(found(proc, NamedBy::kCgroup, "/app/deep:er") == Pids{below});
  CHECK(says(refused(proc, NamedBy::kCgroup, "/"), "name a group below it"));
  CHECK(says(refused(proc, NamedBy::kCgroup, "/app/../app"), "no process runs in this group"));
}

TEST_CASE("find: the folder of a group is under one of the mounts") {
  const std::string mounts =
      "30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
      "32 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
  CHECK(group_of_folder("/sys/fs/cgroup/unified/a/b/", mounts) == "/a/b");
  CHECK(group_of_folder("/sys/fs/cgroup/cpu", mounts).empty());
  CHECK(group_of_folder("/sys/fs/cgroup/cpuset", mounts) == "/sys/fs/cgroup/cpuset");
  CHECK(group_of_folder("a", "no mounts\n - cgroup") == "/a");
}

TEST_CASE("find: a container is named by its ID, the start of it, or its engine's name") {
  MadeUpProc proc;
  const Pid web = proc.add(1, {.cgroup = "0::/system.slice/docker-" + kIdOfWeb + ".scope\n"});
  const Pid db =
      proc.add(2, {.cgroup = "0::/machine.slice/libpod-" + kIdOfDb + ".scope/container\n"});
  MadeUpProc::write(proc.root() + "/docker/" + kIdOfWeb + "/config.v2.json", R"({"Name":"/web"})");
  MadeUpProc::write(proc.root() + "/podman/containers.json",
                    R"([{"id":")" + kIdOfDb + R"(","names":["db"]}, 7, {"id":[]}])");
  CHECK(found(proc, NamedBy::kContainer, kIdOfWeb) == Pids{web});
  CHECK(found(proc, NamedBy::kContainer, "b1b2") == Pids{db});
  CHECK(found(proc, NamedBy::kContainer, "web") == Pids{web});
  CHECK(found(proc, NamedBy::kContainer, "db") == Pids{db});
  CHECK(says(refused(proc, NamedBy::kContainer, "b1"), "there are db, web"));
  MadeUpProc::write(proc.root() + "/docker/" + kIdOfWeb + "/config.v2.json", "{\"Name\": [");
  CHECK(says(refused(proc, NamedBy::kContainer, "web"), "there are aaaaaaaaaaaa, db"));
}

// Nobody writes to either FIFO, so this would wait for ever.
TEST_CASE("find: a name of a container is read from a regular file only") {
  MadeUpProc proc;
  const Pid web = proc.add(1, {.cgroup = "0::/system.slice/docker-" + kIdOfWeb + ".scope\n"});
  fs::create_directories(proc.root() + "/docker/" + kIdOfWeb);
  fs::create_directories(proc.root() + "/podman");
  REQUIRE(::mkfifo((proc.root() + "/docker/" + kIdOfWeb + "/config.v2.json").c_str(), 0600) == 0);
  REQUIRE(::mkfifo((proc.root() + "/podman/containers.json").c_str(), 0600) == 0);
  ::alarm(20);
  CHECK(says(refused(proc, NamedBy::kContainer, "web"), "there is aaaaaaaaaaaa"));
  CHECK(found(proc, NamedBy::kContainer, kIdOfWeb) == Pids{web});
  ::alarm(0);
}

TEST_CASE("find: who listens on a port holds its socket, in whichever network namespace") {
  MadeUpProc proc;
  const std::string listens = "   0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 777 1 x\n";
  const std::string connected = "   1: 0100007F:0050 0100007F:C001 01 0:0 0:0 0 1000 0 888 1 x\n";
  const Pid listener = proc.add(1, {.tcp = connected + listens, .socket = 777});
  const Pid worker = proc.add(2, {.tcp = "", .socket = 777});
  const Pid elsewhere = proc.add(
      3, {.tcp = "   0: 0:0016 0:0 0A 0:0 0:0 0 0 0 999\nx\n", .socket = 999, .net = "net:[2]"});
  proc.add(4, {.socket = 888});
  CHECK(found(proc, NamedBy::kPort, "8080") == Pids{listener, worker});
  CHECK(found(proc, NamedBy::kPort, "22") == Pids{elsewhere});
  CHECK(says(refused(proc, NamedBy::kPort, "80"),
             "nothing listens on this TCP port; there are "
             "listeners on 22, 8080"));
  proc.end(elsewhere);
  CHECK(says(refused(proc, NamedBy::kPort, "22"), "nothing listens"));
}

TEST_CASE("find: processes that start later are found once, and by their number once more") {
  MadeUpProc proc;
  const Pid first = proc.add(1, {.comm = "server"});
  const Pid shell = proc.add(2, {.comm = "sh"});
  ProcessFinder finder = proc.finder({{NamedBy::kName, "server"}});
  REQUIRE(finder.find());
  CHECK(finder.find_new().empty());
  const Pid later = proc.add(3, {.comm = "server"});
  CHECK(finder.find_new() == Pids{later});
  CHECK(finder.find_new().empty());
  // A young process may execute another program.
  MadeUpProc::write(proc.root() + "/proc/" + std::to_string(raw(shell)) + "/comm", "server\n");
  CHECK(finder.find_new() == Pids{shell});
  proc.end(first);
  CHECK(finder.find_new().empty());
  proc.add(1, {.comm = "server"});
  CHECK(finder.find_new() == Pids{first});
}

TEST_CASE("find: a port names those that listen when it is asked") {
  MadeUpProc proc;
  const std::string listens = "   0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 777 1 x\n";
  proc.add(1, {.tcp = listens, .socket = 777});
  ProcessFinder finder = proc.finder({{NamedBy::kPort, "8080"}});
  REQUIRE(finder.find());
  proc.add(2, {.socket = 777});
  CHECK(finder.find_new().empty());
}

TEST_CASE("find: waiting ends when the process has started, or when it is not wanted any more") {
  MadeUpProc proc;
  proc.add(1, {.comm = "other"});
  int asked = 0;
  ProcessFinder finder = proc.finder({{NamedBy::kWaitFor, "server"}});
  auto matches = finder.find([&] {
    if (++asked == 2) proc.add(2, {.comm = "server"});
    return false;
  });
  REQUIRE(matches);
  CHECK(matches->front().pids == Pids{Pid{kBase + 2}});
  auto interrupted = proc.finder({{NamedBy::kWaitFor, "never"}}).find([] { return true; });
  REQUIRE_FALSE(interrupted);
  CHECK(interrupted.error().code == ErrorCode::kVanished);
}

// The file that shows the process's state is a pipe first: who opens it gets `S`, and finds a
// zombie when it looks again.
TEST_CASE("find: waiting goes on if the process that has started has ended when all are matched") {
  MadeUpProc proc;
  const Pid early = proc.add(1, {.comm = "server", .state = 'Z'});
  const std::string stat = proc.root() + "/proc/" + std::to_string(raw(early)) + "/stat";
  std::string ended;
  std::getline(std::ifstream(stat), ended);
  std::string running = ended;
  running.replace(running.find(" Z "), 3, " S ");
  fs::remove(stat);
  REQUIRE(::mkfifo(stat.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::ofstream pipe(stat);  // waits for the reader
    fs::remove(stat);
    MadeUpProc::write(stat, ended);
    pipe << running;
  });
  Pid next{};
  auto matches = proc.finder({{NamedBy::kWaitFor, "server"}}).find([&] {
    if (next == Pid{}) next = proc.add(2, {.comm = "server"});
    return false;
  });
  writer.join();
  INFO((matches ? "" : matches.error().context));
  REQUIRE(matches);
  CHECK(next != Pid{});
  CHECK(matches->front().pids == Pids{next});
}

TEST_CASE("pinned_processes: a number that is free again is not the process that was pinned") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  REQUIRE(child > 0);
  PinnedProcesses pins;
  const Pid pid{child};
  CHECK(pins.is_still(pid));  // not pinned
  REQUIRE(pins.pin(pid));
  CHECK(pins.is_still(pid));
  REQUIRE(::kill(child, SIGKILL) == 0);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(pins.is_still(pid));  // a zombie has ended, too
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK_FALSE(pins.is_still(pid));
  CHECK_FALSE(pins.pin(pid));
  pins.unpin(pid);
  CHECK(pins.is_still(pid));
}
