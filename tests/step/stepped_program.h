// A program of tests/targets/steppers, stepped, and what its source says that must be found.
#pragma once

#include <compare>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cli/check/programs.h"

namespace labelscope::test {

// A rule that is broken, where.
struct Expectation {
  std::string rule;  // "LS050"
  std::string function;
  unsigned line = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 finds one in a defaulted comparison
  friend auto operator<=>(const Expectation&, const Expectation&) = default;
};
std::ostream& operator<<(std::ostream& out, const Expectation& expectation);

// From the lines "... // expect LS050 in name".
std::set<Expectation> expectations_of(const std::string& source);

// Path of a program; the test is skipped if it was not built here.
std::string stepper(const std::string& name);

struct Stepped {
  cli::CheckReport report;
  Status status;

  // Warnings and errors of processes, not of files.
  std::vector<Diagnostic> found() const;
  // The same as expectations, each of which names a line in `source`.
  std::set<Expectation> places(const std::string& source) const;
  // Everything that was said, for a test that fails.
  std::string told() const;
};

// Whether watchpoints stop the program here, where it does what nobody expects. Else every function
// is stepped.
bool has_watchpoints();

// While it lives, labelscope finds none.
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
