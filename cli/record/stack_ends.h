// The ledger of stacks: samples = complete + incomplete (by reason). A stack is complete only if it
// reached the start of its thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Settles the ends that only names can decide, in a profile whose addresses are named, and counts
// the stacks by their ends. The ledger gets a counter for each end (for example "stacks-complete").
void count_stack_ends(Profile& profile);

// Returns the sentence on how many stacks reached the start of their thread, if more than a tenth
// did not. Empty otherwise, and if no stacks were asked for.
std::string stack_ends_text(const Profile& profile);

// From which second on stacks were whole. The tables by which they are unwound are made while the
// recording runs; on a busy machine, or for large programs, that takes seconds.
class TableTimes {
 public:
  // Takes the time of CLOCK_MONOTONIC.
  void start(std::uint64_t time_ns) { start_ns_ = time_ns; }
  void note(std::uint64_t time_ns, ls_stack_end end);
  // A sentence if it took a second or more. Empty otherwise, and if tables were missing up to the
  // end.
  std::string text() const;

 private:
  std::uint64_t start_ns_ = 0;
  std::uint64_t last_without_ns_ = 0;  // the last sample whose stack ended for lack of a table
  std::uint64_t without_ = 0;
  std::uint64_t since_ = 0;  // samples since then, and how many of them have a whole stack
  std::uint64_t whole_since_ = 0;
};

}  // namespace labelscope::cli
