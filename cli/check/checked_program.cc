// All processes of the program are found because labelscope is a "child subreaper" (prctl(2)), so
// it becomes the parent of every process whose own parent has ended. They are labelscope's
// children, and their children, and so on.
#include "cli/check/checked_program.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <deque>
#include <thread>
#include <utility>

#include "cli/text/text.h"
#include "labelscope/target.h"
#include "process/child_processes.h"

namespace labelscope::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A fork bomb may have more processes than we can kill.
constexpr std::size_t kMaxProcesses = 4096;
// A process that SIGKILL does not end in this time waits for a device. Nothing can end it.
constexpr std::chrono::seconds kPatience{5};
constexpr milliseconds kPause{2};

std::vector<Pid> children_of(Pid pid) {
  auto process = LiveProcess::open(pid);
  if (!process) return {};
  return child_processes(**process);
}

std::string described(Pid pid) {
  auto process = LiveProcess::open(pid);
  const std::string name = process ? (*process)->comm() : std::string();
  return (name.empty() ? "?" : name) + " (" + std::to_string(raw(pid)) + ")";
}

}  // namespace

Result<CheckedProgram> CheckedProgram::start(const std::vector<std::string>& command,
                                             const Signals* signals) {
  int was_reaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return system_error(errno, "becoming the parent of what the program starts");
  }
  const std::vector<Pid> before = children_of(Pid{::getpid()});
  auto child = Child::start(command, signals, Child::IfOrphaned::kIsKilled);
  if (!child) return std::move(child).error();
  return CheckedProgram(command.front(), *std::move(child), {before.begin(), before.end()},
                        was_reaper != 0);
}

CheckedProgram::CheckedProgram(CheckedProgram&& other) noexcept
    : name_(std::move(other.name_)),
      child_(std::move(other.child_)),
      others_(std::move(other.others_)),
      was_reaper_(other.was_reaper_),
      owned_(std::exchange(other.owned_, false)) {}

CheckedProgram::~CheckedProgram() {
  if (!owned_) return;
  end(milliseconds{0});
  ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper_ ? 1 : 0);
}

Status CheckedProgram::release() {
  const int failed = child_.release();
  if (failed == 0) return {};
  while (!child_.ended()) std::this_thread::sleep_for(kPause);
  Error error = system_error(failed, "cannot run " + name_);
  // The error may be kPermission, for the file. The caller would take that for a missing permission
  // to read a process.
  if (error.code != ErrorCode::kNotFound) error.code = ErrorCode::kUnsupported;
  return error;
}

std::vector<Pid> CheckedProgram::processes() const {
  for (Pid pid : children_of(Pid{::getpid()})) {
    // An adopted child that has ended is a zombie until we wait for it.
    const bool ours = others_.count(pid) == 0 && pid != child_.pid();
    if (ours) ::waitpid(raw(pid), nullptr, WNOHANG);
  }
  return family();
}

std::vector<Pid> CheckedProgram::family() const {
  std::vector<Pid> found;
  std::deque<Pid> to_ask;
  for (Pid pid : children_of(Pid{::getpid()})) {
    if (others_.count(pid) == 0) to_ask.push_back(pid);
  }
  std::set<Pid> seen;
  while (!to_ask.empty() && found.size() < kMaxProcesses) {
    const Pid pid = to_ask.front();
    to_ask.pop_front();
    if (!seen.insert(pid).second) continue;
    auto process = LiveProcess::open(pid);
    if (!process) continue;
    found.push_back(pid);
    for (Pid child : child_processes(**process)) to_ask.push_back(child);
  }
  return found;
}

void CheckedProgram::kill_all() const {
  std::set<Pid> killed;
  // Each round kills the processes that were started since the round before.
  for (bool any = true; any && killed.size() < kMaxProcesses;) {
    any = false;
    for (Pid pid : family()) {
      if (!killed.insert(pid).second) continue;
      ::kill(raw(pid), SIGKILL);
      any = true;
    }
  }
}

void CheckedProgram::signal_all(int signal, std::set<Pid>& seen,
                                std::vector<std::string>& names) const {
  for (Pid pid : processes()) {
    if (seen.insert(pid).second) names.push_back(described(pid));
    ::kill(raw(pid), signal);
    // A stopped process does not handle SIGTERM until it continues.
    if (signal == SIGTERM) ::kill(raw(pid), SIGCONT);
  }
}

CheckedProgram::Ending CheckedProgram::end(milliseconds grace) {
  Ending ending;
  std::set<Pid> seen;
  if (grace.count() > 0) signal_all(SIGTERM, seen, ending.ended);
  const auto asked = Clock::now();
  while (!processes().empty() && Clock::now() - asked < grace) {
    std::this_thread::sleep_for(kPause);
  }
  const auto killed = Clock::now();
  while (!processes().empty() && Clock::now() - killed < kPatience) {
    signal_all(SIGKILL, seen, ending.ended);
    std::this_thread::sleep_for(kPause);
  }
  for (Pid pid : processes()) ending.running.push_back(described(pid));
  while (!child_.ended() && Clock::now() - killed < kPatience) std::this_thread::sleep_for(kPause);
  return ending;
}

void CheckedProgram::finish(milliseconds grace, Watchdog::Reason reason, milliseconds timeout,
                            CheckReport& report) {
  const Ending ending = end(grace);
  report.wait_status = ended();
  report.ended_by_check = reason != Watchdog::Reason::kNone;
  if (reason == Watchdog::Reason::kCancelled) {
    report.remarks.emplace_back("interrupted: the program was ended");
  } else if (reason == Watchdog::Reason::kTimeout) {
    report.remarks.push_back("the program still ran after " + seconds_text(timeout) +
                             " and was ended; --timeout gives it longer");
  } else if (!ending.ended.empty()) {
    std::string names;
    for (const std::string& name : ending.ended) names += (names.empty() ? "" : ", ") + name;
    report.remarks.push_back("the program left processes running, which were ended: " + names);
  }
  for (const std::string& name : ending.running) {
    report.remarks.push_back("process " + name + " could not be ended and still runs");
  }
}

}  // namespace labelscope::cli
