// Checks of what runs: check -p PID, check -- CMD, and check --step -- CMD. Each adds subjects
// (each publisher's file, then the process), effort and remarks to the report.
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
  std::chrono::milliseconds timeout{30'000};         // the check ends then, with what it has
  std::function<bool()> cancelled;                   // asked often, on any thread: Ctrl-C
  std::function<void(const CheckEffort&)> progress;  // told often; may be empty
  // Ends labelscope, having said why: memory of the target is supplied by nobody, and no other end
  // is possible. Must not return; called on another thread. Empty: it waits without a limit.
  std::function<void(const std::string& why)> give_up;
  // Whom to ask, in the program that is started, for the signals as labelscope found them (see
  // Child). Null: they are as they should be.
  const Signals* signals = nullptr;
};

struct LiveCheckOptions : ProgramCheckOptions {
  std::uint64_t samples = 1000;  // of each process, of all its threads together
  // What a program that is ended has for it, from SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{2'000};
};

// The files that a process has loaded and publish labels, and the label sets of its threads, each
// read while the thread is stopped, a number of times. The process goes on as if nothing had been.
// kVanished, kPermission as of snapshot_process().
Status check_process(Pid pid, const LiveCheckOptions& options, CheckReport& report);

// Starts the program, whose output stays its own. Checks it and the processes that it starts, from
// their first labels on and ever more rarely, until it has enough samples of each. Processes of one
// name are one subject, called after the first of them. Then the program runs to its end. After the
// timeout, the check ends it. Nothing is left running. Sets report.wait_status. kNotFound,
// kUnsupported: the program cannot be started, and why.
Status check_command(const std::vector<std::string>& command, const LiveCheckOptions& options,
                     CheckReport& report);

struct StepCheckOptions : ProgramCheckOptions {
  StepCheckOptions() { timeout = std::chrono::minutes{1}; }
  // Functions (names of symbols, "begin:end" for a pair) each call of which the program declares to
  // be one update. With the calls labelscope_update_begin() and labelscope_update_end(), which a
  // program may define itself, the same; without both, whatever touches the variable is watched.
  std::vector<std::string> updates;
  std::uint64_t max_update_steps = 5'000'000;  // a declared update that takes more has no end
  std::uint64_t max_updates = 0;               // stop looking after so many; 0: no bound
  Launcher worker = launch_own_worker;         // that reads the program's files
};

// Runs the program, and its label updates one instruction at a time. After the timeout it is ended;
// the report has what was seen. The rest is as in check_command(); kPermission: ptrace is refused.
Status step_command(const std::vector<std::string>& command, const StepCheckOptions& options,
                    CheckReport& report);

}  // namespace labelscope::cli
