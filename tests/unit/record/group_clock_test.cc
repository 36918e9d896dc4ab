// Which cgroup has exactly the processes of a recording, and what its clock says.
#include "cli/record/group_clock.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "cli/record/process_clocks.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A machine's files: processes 10 and 11 are in /app, 12 below it, and 13 in another group.
class Files {
 public:
  explicit Files(bool is_unified) : unified_(is_unified) {
    std::string made = std::filesystem::temp_directory_path() / "labelscope-groups-XXXXXX";
    REQUIRE(::mkdtemp(made.data()) != nullptr);
    folder_ = made;
    const std::string options = is_unified ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,cpu,cpuacct";
    write("proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n31 23 0:28 / " + groups() +
                                     " rw,relatime shared:3 - " + options + "\n");
    for (const auto& [pid, group] : {std::pair{10, "/app"}, {11, "/app"}, {12, "/app/deep"},
                                     {13, "/other"}}) {
      write("proc/" + std::to_string(pid) + "/cgroup",
            std::string("7:pids:/\n") + (unified_ ? "0::" : "4:cpu,cpuacct:") + group + "\n");
      set_status(pid, 1, 'S');
    }
    write("groups/app/cgroup.procs", "10\n11\n");
    write("groups/app/deep/cgroup.procs", "12\n");
    write("groups/other/cgroup.procs", "13\n");
    write("groups/cgroup.procs", "1\n");
    set_status(1, 0, 'S');
    for (const char* group : {"app", "app/deep", "other"}) set_clock(group, 5000);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  void set_clock(const std::string& group, std::uint64_t us) {
    if (unified_) {
      write("groups/" + group + "/cpu.stat",
            "usage_usec " + std::to_string(us) + "\nuser_usec 1\nsystem_usec 2\n");
    } else {
      write("groups/" + group + "/cpuacct.usage", std::to_string(1000 * us) + "\n");
    }
  }
  void set_status(int pid, int parent, char state) {
    write("proc/" + std::to_string(pid) + "/status",
          std::string("Name:\tapp\nState:\t") + state + " (x)\nPPid:\t" + std::to_string(parent) +
              "\n");
  }
  // Another process is in /app.
  void add(int pid, int parent) {
    write("groups/app/cgroup.procs", "10\n11\n" + std::to_string(pid) + "\n");
    set_status(pid, parent, 'R');
  }
  std::string proc() const { return folder_ + "/proc"; }
  std::string groups() const { return folder_ + "/groups"; }

 private:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string folder_;
  bool unified_;
};

}  // namespace

TEST_CASE("group clock: of the smallest group that has exactly these processes") {
  Files files(GENERATE(true, false));
  const auto all = GroupClock::of({Pid{10}, Pid{11}, Pid{12}}, files.proc());
  REQUIRE(all);
  CHECK(all->folder() == files.groups() + "/app");
  CHECK(all->used_ns() == 5'000'000);
  const auto deep = GroupClock::of({Pid{12}}, files.proc());
  REQUIRE(deep);
  CHECK(deep->folder() == files.groups() + "/app/deep");
}

TEST_CASE("group clock: there is none if a process is missing, or is another group's") {
  Files files(GENERATE(true, false));
  CHECK(!GroupClock::of({}, files.proc()));
  CHECK(!GroupClock::of({Pid{10}, Pid{11}}, files.proc()));
  CHECK(!GroupClock::of({Pid{10}, Pid{11}, Pid{12}, Pid{13}}, files.proc()));
  CHECK(!GroupClock::of({Pid{99}}, files.proc()));
}

TEST_CASE("group clock: processes may have ended meanwhile, or be too new to be known") {
  Files files(GENERATE(true, false));
  files.add(17, 11);
  CHECK(GroupClock::of({Pid{10}, Pid{11}, Pid{12}, Pid{9}}, files.proc()));
  files.set_status(13, 10, 'Z');
  CHECK(GroupClock::of({Pid{10}, Pid{11}, Pid{12}, Pid{13}}, files.proc()));
  files.add(18, 1);
  CHECK(!GroupClock::of({Pid{10}, Pid{11}, Pid{12}}, files.proc()));
}

TEST_CASE("group clock: a recording has its time between two readings at each end") {
  std::uint64_t now = 100;
  KernelClocks none = KernelClocks().without_processes();
  none.processors = [] { return std::uint64_t{0}; };
  ProcessClocks clocks(none);
  CHECK(clocks.of_group().most_ns == std::numeric_limits<std::uint64_t>::max());
  clocks.watch([&] { return std::optional(now); });
  clocks.expect_start();
  now = 120;
  clocks.start();
  now = 1000;
  clocks.expect_stop();
  now = 1100;
  clocks.stop();
  CHECK(clocks.of_group().least_ns == 880);
  CHECK(clocks.of_group().most_ns >= 1000);
  CHECK(clocks.of_group().most_ns <= 1000 + 10'000'000);
}

TEST_CASE("group clock: a group that is removed says nothing") {
  std::optional<std::uint64_t> now = 100;
  ProcessClocks clocks(KernelClocks().without_processes());
  clocks.watch([&] { return now; });
  clocks.expect_start();
  clocks.start();
  clocks.expect_stop();
  now.reset();
  clocks.stop();
  CHECK(clocks.of_group().least_ns == 0);
  CHECK(clocks.of_group().most_ns == std::numeric_limits<std::uint64_t>::max());
}
