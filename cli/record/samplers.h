// Which way of sampling a recording takes, and the sampler.
#pragma once

#include <memory>
#include <string>

#include "cli/options/record_options.h"
#include "cli/record/targets.h"
#include "cli/unwind/table_worker.h"
#include "sampling/sampler.h"

namespace labelscope::cli {

struct OpenedSampler {
  std::shared_ptr<TableWorker> tables;  // null where stacks need none
  std::unique_ptr<Sampler> sampler;
  Backend backend = Backend::kPtrace;     // what was taken, so never kAuto
  const CallGraph* call_graph = nullptr;  // of kCallGraphs
  std::string why_not_bpf;                // where ptrace was taken for want of BPF: the reason
  bool bpf_would_do = false;              // ptrace was taken, and --backend bpf could be had
  std::string remark;                     // what a user may ask for; may be empty
  bool remark_warns = false;  // what should not be: said to all, not only with --verbose
};

// Whether --backend auto takes ptrace instead of BPF for this error: the rights, the kernel or a
// limit do not allow BPF. What else failed is to be known, not to be worked around.
bool calls_for_ptrace(const Error& of_bpf);

// Takes nothing yet. kPermission: the context is a message of several lines.
Result<OpenedSampler> open_sampler(const RecordOptions& options, const Targets& targets);

// What a recording without BPF means, for the one who records.
std::string fallback_text(const std::string& why_not_bpf);

}  // namespace labelscope::cli
