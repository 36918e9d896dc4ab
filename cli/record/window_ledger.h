// The ledger of one window among many. Samplers count from their start on, so what a window has is
// the difference of two sums. But a sample is counted when it is taken, and handed out a moment
// later, so at a cut some are on their way:
//
//   taken       1 2 3 4 5 | 6 7 8 ...       the kernel's counters, as they are read
//   handed out  1 2 3     |     4 5 6 7     4 and 5 count in the next window, with their rows
#pragma once

#include <array>
#include <cstdint>

#include "cli/profile/profile.h"
#include "sampling/sampler.h"

namespace labelscope::cli {

class WindowLedger {
 public:
  // Call it with each sample that is handed out.
  void note(ls_outcome outcome) { ++handed_out_[outcome]; }
  // Returns the sampler's counters without the samples that are on their way: they add up, and
  // none is pending.
  Counters without_those_on_their_way(Counters counters);
  // Whether there was a window before this one.
  bool has_cut() const { return has_cut_; }
  // Returns what has been added to all sums but the time since the last call.
  Ledger cut(const Ledger& sums);

 private:
  std::array<std::uint64_t, LS_OUTCOME_COUNT> handed_out_{};
  std::array<std::uint64_t, LS_OUTCOME_COUNT> dropped_{};  // of those that will never come
  Ledger before_;
  bool has_cut_ = false;
};

}  // namespace labelscope::cli
