// labelscope record: its options.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/host/rights.h"
#include "cli/options/label_options.h"
#include "cli/options/output_options.h"
#include "cli/options/values.h"
#include "labelscope/ids.h"
#include "sampling/ptrace_sampler.h"

namespace labelscope::cli {

inline constexpr Named<SampleMode> kModes[] = {{"cpu", SampleMode::kCpu},
                                               {"wall", SampleMode::kWall}};

// `outputs` empty: files with names of their own.
struct RecordOptions : OutputOptions {
  std::vector<Pid> pids;             // either these
  std::vector<std::string> command;  // or this
  std::optional<std::chrono::nanoseconds> duration;
  std::uint32_t frequency_hz = 99;
  Backend backend = Backend::kAuto;
  SampleMode mode = SampleMode::kCpu;
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);  // ptrace only
  std::optional<ls_call_graph> call_graph;                           // for find_call_graph()
  bool kernel_stacks = true;
  bool follow_children = true;
  LabelOptions unpublished;                // labels that no program publishes
  std::vector<std::string> debug_folders;  // to be trusted with debug files
  std::uint32_t max_processes = 4096;
  std::uint32_t ring_mib = 8;
  std::uint32_t unwind_mib = 256;
  std::optional<User> drop_to;  // the user to become, once nothing needs more rights
  std::string command_line;     // as it was typed, for the files' headers

  // What to add to these options to sample threads that wait, too: "--backend ptrace --mode wall".
  std::string options_for_wall() const;

  static const CommandTexts kTexts;
  void declare(OptionList& list);
  // What cannot be told from one option alone, after the list has been read. Throws as that does.
  void check(const OptionList& list, const CommandTail& tail);
};

}  // namespace labelscope::cli
