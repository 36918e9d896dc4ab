// What a check has done so far. Those who look count (check/ and step/), those who tell read.
#pragma once

#include <chrono>
#include <cstdint>

#include "labelscope/check_set.h"

namespace labelscope::cli {

// How deep it went, for whoever doubts a clean verdict. Zeros where it was not done. A process of
// which no labels were seen (labelled and updates 0) and a program that failed by itself are
// problems to the command: checks need not say so.
struct CheckEffort {
  std::uint64_t samples = 0;   // label sets read of stopped threads
  std::uint64_t labelled = 0;  // of those, sets with labels in them
  std::uint64_t threads = 0;   // different ones
  std::uint64_t steps = 0;     // instructions stepped
  std::uint64_t updates = 0;   // changes from one label set to another that were stepped through
  // Changes that happened while a thread ran freely; those that are not proven are a gap.
  std::uint64_t unseen_updates = 0;
  std::chrono::nanoseconds stepping{0};  // time that stepping took
};

// Whether a thread has labels; a set that cannot be read, or is wrong, was meant to have some.
inline bool has_labels(const SetCheck& check) {
  return check.set.state != CheckedSet::State::kNone || !check.diagnostics.empty();
}

}  // namespace labelscope::cli
