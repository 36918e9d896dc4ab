// Chooses how a recording samples, and makes the sampler.
#pragma once

#include <memory>
#include <string>

#include "cli/options/session_options.h"
#include "cli/record/targets.h"
#include "cli/unwind/table_worker.h"
#include "sampling/sampler.h"

namespace labelscope::cli {

struct OpenedSampler {
  std::shared_ptr<TableWorker> tables;  // null if stacks need none
  std::string why_no_cache;             // why tables are not kept; empty if they are
  std::unique_ptr<Sampler> sampler;
  Backend backend = Backend::kPtrace;     // the backend in use, never kAuto
  const CallGraph* call_graph = nullptr;  // row of kCallGraphs
  // why it is ptrace and not BPF; empty if BPF was not tried
  std::string why_not_bpf;
  bool bpf_would_do = false;  // it is ptrace, and --backend bpf is available
  std::string remark;         // shown if the user asks for it; may be empty
  bool remark_warns = false;  // something is wrong: show it without --verbose, too
};

// Returns whether --backend auto uses ptrace instead of BPF after this error: the rights, the
// kernel or a limit do not allow BPF. Any other failure is reported, not worked around.
bool calls_for_ptrace(const Error& of_bpf);

// Takes no sample yet. With kPermission, the context is a message of several lines.
Result<OpenedSampler> open_sampler(const SessionOptions& options, const WantedLabels& labels,
                                   const Targets& targets);

// Returns the work of a recording that is still to be done once its sampler is open, as bits of
// RemainingWork: rights for anything else can go.
unsigned remaining_work(const OpenedSampler& opened, const SessionOptions& options,
                        const Targets& targets);

// Explains to the user what a recording without BPF means.
std::string fallback_text(const std::string& why_not_bpf);

}  // namespace labelscope::cli
