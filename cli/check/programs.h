// Checks of running programs: check -p PID, check -- CMD, and check --step -- CMD. Each adds
// subjects (each publisher's file, then the process), effort and remarks to the report.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/check/report.h"
#include "cli/host/signals.h"
#include "cli/worker/launch.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct ProgramCheckOptions {
  std::chrono::milliseconds timeout{30'000};  // the check ends after this, with what it has
  // called often and on any thread; true after Ctrl-C
  std::function<bool()> cancelled;
  std::function<void(const CheckEffort&)> progress;  // called often; may be empty
  // Reports why and ends labelscope, for when a page of the target's memory never comes and no
  // other end is possible. Must not return; called on another thread. Empty: the check waits
  // without a limit.
  std::function<void(const std::string& why)> give_up;
  // The started program gets the signal settings that labelscope found (see Child). Null: it gets
  // the current ones.
  const Signals* signals = nullptr;
};

struct LiveCheckOptions : ProgramCheckOptions {
  std::uint64_t samples = 1000;  // of each process, summed over its threads
  // The time between SIGTERM and SIGKILL for a program that is ended.
  std::chrono::milliseconds grace{2'000};
};

// Checks the files that a process has loaded and that publish labels, and the label sets of its
// threads, each read a number of times while the thread is stopped. The process continues
// undisturbed. Fails with kVanished and kPermission as snapshot_process() does.
Status check_process(Pid pid, const LiveCheckOptions& options, CheckReport& report);

// Starts the program, whose output stays its own. Checks it and the processes that it starts, from
// their first labels on and ever more rarely, until it has enough samples of each. Processes of one
// name are one subject, called after the first of them. Then the program runs to its end. After the
// timeout, the check ends it. Nothing is left running. Sets report.wait_status. Fails with
// kNotFound or kUnsupported if the program cannot be started.
Status check_command(const std::vector<std::string>& command, const LiveCheckOptions& options,
                     CheckReport& report);

struct StepCheckOptions : ProgramCheckOptions {
  StepCheckOptions() { timeout = std::chrono::minutes{1}; }
  // The functions (names of symbols, or "begin:end" for a pair) of which the program declares each
  // call to be one update. Calls of labelscope_update_begin() and labelscope_update_end(), which a
  // program may define itself, declare the same. Without both, every access to the variable is
  // watched.
  std::vector<std::string> updates;
  // a declared update that takes more counts as one without an end
  std::uint64_t max_update_steps = 5'000'000;
  std::uint64_t max_updates = 0;        // stop watching after so many; 0: no bound
  Launcher worker = launch_own_worker;  // starts the worker that reads the program's files
};

// Runs the program, and its label updates one instruction at a time. After the timeout it is ended;
// the report has what was seen. The rest is as in check_command(). Fails with kPermission if ptrace
// is refused.
Status step_command(const std::vector<std::string>& command, const StepCheckOptions& options,
                    CheckReport& report);

}  // namespace labelscope::cli
