// The options of a session (cli/record/session.h): which processes are sampled, and how. Commands
// that sample have these among their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/host/rights.h"
#include "cli/options/common_options.h"
#include "cli/options/label_options.h"
#include "cli/options/target_options.h"
#include "cli/options/values.h"
#include "cli/profile/label_rules.h"
#include "sampling/sampler.h"

namespace labelscope::cli {

// The kinds that samples of a mode have by this backend.
constexpr SampleKinds kinds_of(const Mode& mode, Backend backend) {
  return backend == Backend::kPtrace ? mode.by_ptrace : mode.by_bpf;
}

// Which labels a session keeps. The options must outlive it.
struct WantedLabels {
  const LabelRules& rules;
  const std::vector<std::string>& blame;  // keys by which waits are blamed
};

struct SessionOptions {
  TargetOptions wanted;              // either these are given
  std::vector<std::string> command;  // or this one
  std::optional<std::chrono::nanoseconds> duration;
  std::uint32_t frequency_hz = 99;
  SampledEvent event = SampledEvent::kAny;
  Backend backend = Backend::kAuto;
  SampleMode mode = SampleMode::kCpu;
  std::chrono::nanoseconds max_stop = std::chrono::milliseconds(5);  // for ptrace only
  std::optional<ls_call_graph> call_graph;                           // input of find_call_graph()
  bool kernel_stacks = true;
  bool follow_children = true;
  LabelOptions unpublished;  // labels that no program publishes
  FunctionNameOptions function_names;
  std::uint32_t max_processes = 4096;
  std::uint32_t ring_mib = 0;  // 0: as many as the rate needs
  std::uint32_t unwind_mib = 256;
  std::string unwind_cache;     // folder for unwind tables; empty: the usual one; "none": nowhere
  std::optional<User> drop_to;  // user to become as soon as no more rights are needed
  std::string command_line;     // as the user typed it, for the headers of files

  // The labels by which blame is added up where it is by few of them.
  std::vector<std::string> kept_for_blame(const WantedLabels& labels) const {
    return with_numbers(labels.blame, unpublished.named_ids);
  }
};

}  // namespace labelscope::cli
