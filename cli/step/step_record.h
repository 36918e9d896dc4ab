// The results of stepping a program, filled while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "cli/host/check_effort.h"
#include "cli/step/step_findings.h"

namespace labelscope::cli {

// Counts for the progress line. The tracer writes them; any thread may read them.
struct StepCounts {
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> updates{0};
  std::atomic<std::uint64_t> threads{0};
};

struct StepRecord {
  StepCounts counts;
  StepFindings findings;
  CheckEffort effort;
  // Functions that changed labels while they ran freely: by start address, their names, how often,
  // and whether an update of theirs was stepped through later.
  struct UnseenFunction {
    std::string name;
    std::uint64_t changes = 0;
    bool proven = false;
  };
  std::map<Address, UnseenFunction> unseen_functions;
  std::set<std::string> doubtful_functions;  // UpdateJudge::doubtful()
  std::uint64_t other_processes = 0;         // forked by the program, and not checked
  std::uint64_t abandoned = 0;        // functions whose stepping ended early: long without a change
  std::uint64_t endless_regions = 0;  // declared updates with more steps than allowed
  std::uint64_t unended_regions = 0;  // declared updates of which we did not see the end
  std::uint64_t exclusive_sequences = 0;  // run as one instruction (aarch64_code.h)
  bool no_watchpoints = false;
};

}  // namespace labelscope::cli
