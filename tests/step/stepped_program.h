// A program of tests/targets/steppers that is stepped through, and what its source says that must
// be found.
#pragma once

#include <compare>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cli/check/programs.h"

namespace labelscope::test {

// A rule that is broken, and the place.
struct Expectation {
  std::string rule;  // "LS050"
  std::string function;
  unsigned line = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 finds one in a defaulted comparison
  friend auto operator<=>(const Expectation&, const Expectation&) = default;
};
std::ostream& operator<<(std::ostream& out, const Expectation& expectation);

// Reads the lines "... // expect LS050 in name" of a source.
std::set<Expectation> expectations_of(const std::string& source);

// Returns the path of a program. Skips the test if it was not built here.
std::string stepper(const std::string& name);

struct Stepped {
  cli::CheckReport report;
  Status status;

  // Returns warnings and errors of processes, not of files.
  std::vector<Diagnostic> found() const;
  // Returns the same as expectations, each of which names a line in `source`.
  std::set<Expectation> places(const std::string& source) const;
  // Returns the whole report, to be shown when a test fails.
  std::string told() const;
};

// Returns whether watchpoints stop a program here at unexpected changes. Otherwise every function
// is stepped through.
bool has_watchpoints();

// As long as this exists, labelscope finds no watchpoints.
class HiddenWatchpoints {
 public:
  HiddenWatchpoints();
  ~HiddenWatchpoints();
  HiddenWatchpoints(const HiddenWatchpoints&) = delete;
  HiddenWatchpoints& operator=(const HiddenWatchpoints&) = delete;

 private:
  bool were_hidden_;
};

Stepped step(const std::vector<std::string>& command, const cli::StepCheckOptions& options = {});

}  // namespace labelscope::test
