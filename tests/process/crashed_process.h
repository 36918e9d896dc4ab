// A program under test that has died and left a core file, with what it said about itself before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "labelscope/core_file.h"
#include "sampling/snapshot.h"
#include "support/target_process.h"
#include "unit/symbol/temp_folder.h"

namespace labelscope::test {

enum class Libc { kGlibc, kMusl };
// kQemu is an aarch64 program in qemu's user mode on another processor. Its cores have no
// NT_ARM_TLS and no NT_FILE notes.
enum class CoreMaker { kKernel, kGcore, kQemu };

const char* name_of(Libc libc);

// The program runs from a copy of its own, which can be moved.
class CrashedProcess {
 public:
  // The libraries of aarch64 are below this folder.
  static constexpr const char* kGuestRoot = "/usr/aarch64-linux-gnu";

  // Starts targets/crasher.c, makes it die as `mode` says, and finds its core; or lets gcore make
  // one while it runs. Skips the test with the reason where that is not possible.
  CrashedProcess(Libc libc, CoreMaker maker, const std::string& mode = "segv");

  const std::string& core() const { return core_; }
  // Returns the folder of the program and its library.
  const std::string& programs() const { return programs_.path(); }
  // Returns the truth of each thread; in mode "update" one thread has two.
  const std::vector<TruthThread>& truth() const { return truth_; }
  // Returns the files that the program ran, with the paths that the core has.
  const std::vector<std::string>& files() const { return files_; }
  // Writes the core's bytes, changed, to another file, and returns its path.
  std::string copy_of_core(const std::string& bytes) const;

 private:
  TargetOptions prepare(Libc libc, CoreMaker maker) const;
  void kill_and_find(TargetProcess& target, const std::string& mode);

  TempFolder programs_;
  TempFolder cores_;
  std::string core_;
  std::vector<TruthThread> truth_;
  std::vector<std::string> files_;
};

// Plans, and takes a snapshot with stacks.
struct SeenCore {
  std::unique_ptr<CoreFile> core;
  ProcessSnapshot snapshot;

  const ThreadSnapshot& thread(Tid tid) const;
};
SeenCore see_core(const std::string& path, const CoreOptions& options);

}  // namespace labelscope::test
