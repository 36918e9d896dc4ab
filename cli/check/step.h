// check --step -- CMD: runs a program, and its label updates one instruction at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/check/report.h"
#include "cli/host/signals.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct StepCheckOptions {
  std::chrono::milliseconds timeout{
      60'000};  // the program is ended then; the report has what was seen
  // Functions (names of symbols, "begin:end" for a pair) each call of which the program declares to
  // be one update. With the calls labelscope_update_begin() and labelscope_update_end(), which a
  // program may define itself, the same; without both, whatever touches the variable is watched.
  std::vector<std::string> updates;
  std::uint64_t max_update_steps = 5'000'000;  // a declared update that takes more has no end
  std::uint64_t max_updates = 0;               // stop looking after so many; 0: no bound
  // These are called on another thread than the caller's; the last two are as in live.h.
  std::function<bool()> cancelled;
  std::function<void(const CheckEffort&)> progress;
  std::function<void(const std::string& why)> give_up;
  const Signals* signals = nullptr;  // as in live.h
};

// Adds subjects (each publisher's file, then the process), effort and remarks to the report; sets
// wait_status. Nothing is left running. kNotFound: it cannot be started, and why; kPermission:
// ptrace is refused.
Status step_command(const std::vector<std::string>& command, const StepCheckOptions& options,
                    CheckReport& report);

}  // namespace labelscope::cli
