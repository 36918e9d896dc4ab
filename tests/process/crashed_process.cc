// The system decides where a core file goes (/proc/sys/kernel/core_pattern), and a test does not
// change that. Where cores go to another program, the test is skipped.
#include "process/crashed_process.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/catch.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Checks that cores are written to the target's working directory.
void require_core_pattern() {
  std::ifstream file("/proc/sys/kernel/core_pattern");
  std::string pattern;
  std::getline(file, pattern);
  if (pattern.empty() || pattern.find('/') != std::string::npos || pattern[0] == '|') {
    skip_test("core files do not go to the working directory here: kernel.core_pattern is \"" +
              pattern + "\"");
  }
}

std::string only_file(const std::string& folder, const std::string& start) {
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(start)) found = entry.path();
  }
  return found;
}

bool runs(const std::string& command) {
  return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
}

std::vector<std::string> mapped_files(Pid pid) {
  auto process = LiveProcess::open(pid);
  REQUIRE(process);
  auto mappings = (*process)->mappings();
  REQUIRE(mappings);
  std::vector<std::string> files;
  for (const Mapping& mapping : *mappings) {
    if (mapping.file && mapping.executable) files.push_back(mapping.path);
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void copy_into(const std::string& from, const std::string& to_folder) {
  std::error_code error;
  fs::copy(from, to_folder, error);
  if (error) FAIL("cannot copy " << from << ": " << error.message());
}

}  // namespace

const char* name_of(Libc libc) { return libc == Libc::kGlibc ? "glibc" : "musl"; }

TargetOptions CrashedProcess::prepare(Libc libc, CoreMaker maker) const {
  TargetOptions options;
  std::string source = std::string(paths::kCrashers) + "/crasher-" + name_of(libc);
  if (maker == CoreMaker::kQemu) {
    source = std::string(paths::kCrashers) + "/aarch64/crasher";
    if (!fs::exists(source) || !runs("command -v qemu-aarch64-static")) {
      skip_test(
          "no cross compiler or no qemu (Debian packages gcc-aarch64-linux-gnu, "
          "libc6-dev-arm64-cross, qemu-user-static)");
    }
    options.program = "/usr/bin/env";
    options.arguments = {"qemu-aarch64-static", "-L", kGuestRoot};
  }
  if (!fs::exists(source)) skip_test("musl-gcc is not installed (Debian package musl-tools)");
  if (maker == CoreMaker::kKernel) require_core_pattern();
  if (maker == CoreMaker::kGcore && !runs("command -v gcore")) {
    skip_test("gcore is not installed (Debian package gdb)");
  }
  copy_into(source, programs_.path());
  if (libc == Libc::kGlibc) {
    copy_into((fs::path(source).parent_path() / "libcustomlabels.so").string(), programs_.path());
  }
  const std::string program = programs_.path() + "/" + fs::path(source).filename().string();
  if (options.program.empty()) {
    options.program = program;
  } else {
    options.arguments.push_back(program);
  }
  return options;
}

void CrashedProcess::kill_and_find(TargetProcess& target, const std::string& mode) {
  const int signal = mode == "update" ? SIGABRT : SIGSEGV;
  if (mode == "update") {
    REQUIRE(::kill(raw(target.pid()), signal) == 0);
  } else {
    REQUIRE(target.send("die"));
  }
  const auto status = target.finish(seconds(60));
  REQUIRE(status);
  REQUIRE(WIFSIGNALED(*status));
  REQUIRE(WTERMSIG(*status) == signal);
}

CrashedProcess::CrashedProcess(Libc libc, CoreMaker maker, const std::string& mode) {
  TargetOptions options = prepare(libc, maker);
  options.arguments.push_back(cores_.path());
  options.arguments.push_back(mode);
  auto target = TargetProcess::spawn(options);
  if (!target) skip_test(target.error().context);
  truth_ = target->threads();
  files_ = mapped_files(target->pid());
  std::string pattern = "core";
  if (maker == CoreMaker::kGcore) {
    const std::string command = "cd '" + cores_.path() + "' && timeout 120 gcore -o core " +
                                std::to_string(raw(target->pid()));
    if (!runs(command)) skip_test("gcore may not look at processes here");
  } else {
    kill_and_find(*target, mode);
    // The emulator itself dies when its guest does, and leaves a core, too.
    if (maker == CoreMaker::kQemu) pattern = "qemu_";
  }
  core_ = only_file(cores_.path(), pattern);
  if (core_.empty()) skip_test("no core file was written");
}

std::string CrashedProcess::copy_of_core(const std::string& bytes) const {
  std::string path = core_ + ".changed";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

SeenCore see_core(const std::string& path, const CoreOptions& options) {
  auto core = CoreFile::open(path, options);
  if (!core) FAIL(core.error().context);
  auto plan = Planner().plan(**core);
  if (!plan) FAIL(plan.error().context);
  SnapshotOptions with_stacks;
  with_stacks.stacks = true;
  auto snapshot = snapshot_core(**core, *std::move(plan), with_stacks);
  if (!snapshot) FAIL(snapshot.error().context);
  return {*std::move(core), *std::move(snapshot)};
}

const ThreadSnapshot& SeenCore::thread(Tid tid) const {
  for (const ThreadSnapshot& one : snapshot.threads) {
    if (one.tid == tid) return one;
  }
  FAIL("the core has no thread " << raw(tid));
  return snapshot.threads.front();
}

}  // namespace labelscope::test
