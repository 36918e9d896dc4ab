// Which control group keeps a process from running, and what thaws it.
#include "cli/process/frozen_group.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "unit/symbol/temp_folder.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A machine's files: process 10 is in /app/deep.
class Files {
 public:
  explicit Files(bool is_unified) : unified_(is_unified) {
    write("proc/self/mountinfo",
          "22 1 0:20 / /proc rw - proc proc rw\n31 23 0:28 / " + groups() +
              " rw,relatime shared:3 - " +
              (is_unified ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,freezer") + "\n");
    write("proc/10/cgroup",
          std::string("7:pids:/other\n") + (is_unified ? "0::" : "4:freezer:") + "/app/deep\n");
    write("proc/10/wchan", "hrtimer_nanosleep");
    set("app", false, false);
    set("app/deep", false, false);
  }
  // `itself`: somebody has frozen this very group.
  void set(const std::string& group, bool frozen, bool itself) {
    const std::string folder = "groups/" + group;
    if (unified_) {
      write(folder + "/cgroup.events", std::string("populated 1\nfrozen ") + (frozen ? "1\n" : "0\n"));
      write(folder + "/cgroup.freeze", itself ? "1\n" : "0\n");
    } else {
      write(folder + "/freezer.state", frozen ? "FROZEN\n" : "THAWED\n");
      write(folder + "/freezer.self_freezing", itself ? "1\n" : "0\n");
    }
  }
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<FrozenGroup> look() const {
    return frozen_group_of(Pid{10}, folder_.path() + "/proc");
  }
  std::string groups() const { return folder_.path() + "/groups"; }

 private:
  TempFolder folder_;
  bool unified_;
};

}  // namespace

TEST_CASE("frozen_group: the group that was frozen, and the command that thaws it") {
  const bool is_unified = GENERATE(false, true);
  Files files(is_unified);
  CHECK_FALSE(files.look());
  SECTION("its own") {
    files.set("app/deep", true, true);
    REQUIRE(files.look());
    CHECK(files.look()->folder == files.groups() + "/app/deep");
    CHECK(files.look()->thaw() == (is_unified
                                       ? "echo 0 >" + files.groups() + "/app/deep/cgroup.freeze"
                                       : "echo THAWED >" + files.groups() +
                                             "/app/deep/freezer.state"));
  }
  SECTION("one above it") {
    files.set("app", true, true);
    files.set("app/deep", true, false);
    REQUIRE(files.look());
    CHECK(files.look()->folder == files.groups() + "/app");
  }
  SECTION("where groups are not to be seen, the thread's place in the kernel says so") {
    files.write("proc/self/mountinfo", "");
    CHECK_FALSE(files.look());
    files.write("proc/10/wchan", is_unified ? "do_freezer_trap" : "__refrigerator");
    REQUIRE(files.look());
    CHECK(files.look()->thaw().empty());
  }
}
