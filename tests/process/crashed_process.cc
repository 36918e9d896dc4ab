// Where a core file goes is the system's matter (/proc/sys/kernel/core_pattern), which a test does
// not change: where it goes to another program, the test is skipped.
#include "process/crashed_process.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/catch.h"

namespace labelscope::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Cores are found in the folder that is the target's working directory.
void require_core_pattern() {
  std::ifstream file("/proc/sys/kernel/core_pattern");
  std::string pattern;
  std::getline(file, pattern);
  if (pattern.empty() || pattern.find('/') != std::string::npos || pattern[0] == '|') {
    skip_test("core files do not go to the working directory here: kernel.core_pattern is \"" +
              pattern + "\"");
  }
}

std::string only_file(const std::string& folder) {
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder)) found = entry.path();
  return found;
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

void copy(const std::string& from, const std::string& to_folder) {
  std::error_code error;
  fs::copy(from, to_folder, error);
  if (error) FAIL("cannot copy " << from << ": " << error.message());
}

}  // namespace

const char* name_of(Libc libc) { return libc == Libc::kGlibc ? "glibc" : "musl"; }

CrashedProcess::CrashedProcess(Libc libc, CoreMaker maker, const std::string& mode) {
  const std::string source = std::string(CRASHERS) + "/crasher-" + name_of(libc);
  if (!fs::exists(source)) skip_test("musl-gcc is not installed (Debian package musl-tools)");
  if (maker == CoreMaker::kKernel) require_core_pattern();
  if (maker == CoreMaker::kGcore && std::system("command -v gcore >/dev/null") != 0) {
    skip_test("gcore is not installed (Debian package gdb)");
  }
  copy(source, programs_.path());
  if (libc == Libc::kGlibc) copy(std::string(CRASHERS) + "/libcustomlabels.so", programs_.path());

  TargetOptions options;
  options.program = programs_.path() + "/crasher-" + name_of(libc);
  options.arguments = {cores_.path(), mode};
  auto target = TargetProcess::spawn(options);
  if (!target) skip_test(target.error().context);
  truth_ = target->threads();
  files_ = mapped_files(target->pid());
  if (maker == CoreMaker::kGcore) {
    const std::string command = "cd '" + cores_.path() + "' && timeout 120 gcore -o core " +
                                std::to_string(raw(target->pid())) + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) skip_test("gcore may not look at processes here");
    core_ = only_file(cores_.path());
  } else {
    if (mode == "update") {
      REQUIRE(::kill(raw(target->pid()), SIGABRT) == 0);
    } else {
      REQUIRE(target->send("die"));
    }
    const auto status = target->finish(seconds(60));
    REQUIRE(status);
    REQUIRE(WIFSIGNALED(*status));
    REQUIRE(WTERMSIG(*status) == (mode == "update" ? SIGABRT : SIGSEGV));
    core_ = only_file(cores_.path());
    if (!WCOREDUMP(*status) || core_.empty()) skip_test("the kernel wrote no core file");
  }
  REQUIRE_FALSE(core_.empty());
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
