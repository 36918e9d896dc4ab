// This is how much a check has done so far. check/ and step/ count it; reports and progress lines
// show it.
#pragma once

#include <chrono>
#include <cstdint>

#include "sources/check_set.h"

namespace labelscope::cli {

// Shows how much was checked, to users who doubt a clean verdict. 0: that kind of check was not
// made. The command itself reports it if no labels were seen (labelled and updates are 0), or if
// the program failed on its own; checks need not do that.
struct CheckEffort {
  std::uint64_t samples = 0;   // label sets that were read while their threads were stopped
  std::uint64_t labelled = 0;  // sets among them that have labels
  std::uint64_t threads = 0;   // different threads
  std::uint64_t steps = 0;
  std::uint64_t updates = 0;  // changes from one label set to another that were stepped through
  // Changes that happened while a thread ran freely. They are a gap, unless an update of the same
  // function was stepped through later.
  std::uint64_t unseen_updates = 0;
  std::chrono::nanoseconds stepping{0};  // time that stepping took
};

// Returns whether a thread has labels. It is also true for a set that is unreadable or wrong,
// because the writer meant it to have some.
inline bool has_labels(const SetCheck& check) {
  return check.set.state != CheckedSet::State::kNone || !check.diagnostics.empty();
}

}  // namespace labelscope::cli
