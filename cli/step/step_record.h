// The results of stepping a program, filled while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/host/check_effort.h"
#include "cli/step/stepped_process.h"
#include "cli/step/update_judge.h"
#include "findings/diagnostic.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// The findings, with names and lines. Each is kept once for its place in the code. Names are looked
// up at once, while the program is stopped and its files and code are still there.
class StepFindings {
 public:
  // `subject` names the thread.
  void add(std::string subject, const UpdateFinding& finding, SteppedProcess& process);
  // Returns them sorted by rule, then in the order in which they were found.
  std::vector<Diagnostic> take();

 private:
  // Rule, module, and the address in the module of the author's instruction; no address if it is
  // unknown.
  using Key = std::tuple<RuleId, std::string, Address>;

  std::map<Key, std::size_t> known_;
  std::vector<Diagnostic> diagnostics_;
};

struct StepRecord {
  std::optional<int> wait_status;  // that of the program; nullopt: other code has collected it
  std::optional<Error> failure;    // why nothing could be checked; empty if something could
  StepFindings findings;
  CheckEffort effort;
  // Functions that changed labels while they ran freely, by start address: their names, how often,
  // and whether an update of theirs was stepped through later.
  struct UnseenFunction {
    std::string name;
    std::uint64_t changes = 0;
    bool proven = false;
  };
  std::map<Address, UnseenFunction> unseen_functions;
  std::set<std::string> doubtful_functions;  // the result of UpdateJudge::doubtful()
  // number of processes that the program forked; they are not checked
  std::uint64_t other_processes = 0;
  // functions whose stepping ended early, after long without a change
  std::uint64_t abandoned = 0;
  std::uint64_t endless_regions = 0;      // declared updates with more steps than allowed
  std::uint64_t unended_regions = 0;      // declared updates whose end was not seen
  std::uint64_t exclusive_sequences = 0;  // sequences that ran as one instruction (aarch64_code.h)
  bool no_watchpoints = false;
  // The most at one time (suspects.h).
  std::size_t functions_let_go = 0;
  // functions that threads without labels called, and that were never stepped
  std::size_t functions_passed = 0;
};

}  // namespace labelscope::cli
