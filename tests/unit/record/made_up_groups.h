// A machine's cgroups, and what its /proc says of their processes, in a folder of the test's own.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "support/catch.h"

namespace labelscope::cli {

// A machine's files: processes 10 and 11 are in /app, 12 below it, and 13 in another group.
class MadeUpGroups {
 public:
  explicit MadeUpGroups(bool is_unified) : unified_(is_unified) {
    std::string made = std::filesystem::temp_directory_path() / "labelscope-groups-XXXXXX";
    REQUIRE(::mkdtemp(made.data()) != nullptr);
    folder_ = made;
    const std::string options = is_unified ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,cpu,cpuacct";
    write("proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n31 23 0:28 / " + groups() +
                                     " rw,relatime shared:3 - " + options + "\n");
    for (const auto& [pid, group] : {std::pair{10, "/app"}, {11, "/app"}, {12, "/app/deep"},
                                     {13, "/other"}}) {
      set_group(pid, group);
      set_status(pid, 1, 'S');
    }
    write("groups/app/cgroup.procs", "10\n11\n");
    write("groups/app/deep/cgroup.procs", "12\n");
    write("groups/other/cgroup.procs", "13\n");
    write("groups/cgroup.procs", "1\n");
    set_status(1, 0, 'S');
    for (const char* group : {"app", "app/deep", "other"}) set_clock(group, 5000);
  }
  ~MadeUpGroups() { std::filesystem::remove_all(folder_); }
  MadeUpGroups(const MadeUpGroups&) = delete;
  MadeUpGroups& operator=(const MadeUpGroups&) = delete;
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
  // Puts these processes into a group, and nobody else.
  void set_members(const std::string& group, const std::string& pids) {
    write("groups/" + group + "/cgroup.procs", pids);
  }
  void set_group(int pid, const std::string& group) {
    write("proc/" + std::to_string(pid) + "/cgroup",
          std::string("7:pids:/\n") + (unified_ ? "0::" : "4:cpu,cpuacct:") + group + "\n");
  }
  void remove_group(const std::string& group) {
    std::filesystem::remove_all(groups() + "/" + group);
  }
  // Another process is in /app.
  void add(int pid, int parent) {
    set_members("app", "10\n11\n" + std::to_string(pid) + "\n");
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

}  // namespace labelscope::cli
