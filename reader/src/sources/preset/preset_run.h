// This runs the program of a preset for one thread: the reader's side of labelscope/preset_walk.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "labelscope/preset_plan.h"
#include "sources/label_source.h"

namespace labelscope {

// What one step of a run did.
struct PresetTraceStep {
  unsigned at = 0;               // its index
  unsigned next = 0;             // that of the step after it; LS_PRESET_STEPS if the run has ended
  std::uint64_t from = 0;        // slot[from], before
  std::uint64_t other = 0;       // what it is compared with
  bool held = false;             // the comparison did
  std::uint64_t to = 0;          // slot[to], afterwards
  ls_outcome outcome{};          // LS_LABELLED unless it has ended the run
  std::vector<std::byte> label;  // the bytes of its label, if it has emitted one
};

// What a run has found, and each pair of values that it has compared on the way. Of a program that
// goes on meanwhile, two equal runs are needed, and equal labels are not enough: an entry that has
// another owner and then its first one again gives the same ones, but a count of its changes is
// another one (preset.cc).
struct PresetReading {
  RawReading raw;
  std::vector<std::uint64_t> compared;
};

// Runs the program of the plan once. If there is a trace, it gets each step that was done.
PresetReading run_preset(const PresetPlan& plan, const ThreadView& thread,
                         std::vector<PresetTraceStep>* trace = nullptr);

}  // namespace labelscope
