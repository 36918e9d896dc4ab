// This is what a recording prints on stderr about its targets and about itself.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/record/tracked_process.h"

namespace labelscope::cli {

// Returns "4242 (postgres): labels from /usr/lib/libcustomlabels.so", or the reason why there are
// none.
std::string describe_labels(const TrackedProcess& process);

// Returns a line for each problem among the numbers of a ledger (cli/format/common/ledger_text.h).
// `bpf_helps`: --backend bpf was not used, and would help. `lacks_mappings`: some addresses of the
// recording belong to no mapping that is known.
std::vector<std::string> ledger_problems(const Ledger& ledger, bool bpf_helps = false,
                                         bool lacks_mappings = true);

// Returns what a recording of waits shows of programs in which what waits is mostly no thread
// ("goroutines of Go"), as one sentence; empty if there are none.
std::string waits_without_thread(const std::set<std::string_view>& waiting);

// Returns one sentence about the functions of scripts, if interpreters ran; else empty.
std::string functions_of_scripts(const Profile& profile);

// What the kernel shows of a recording that has no sample.
struct NoSample {
  std::string standstill;          // why the targets do not run; empty: nothing holds them
  bool ended = false;              // all targets have ended
  bool interrupted = false;        // by Ctrl-C or another signal
  bool command = false;            // the target was started by labelscope
  std::chrono::nanoseconds ran{};  // time on processors, by the kernel's account
  std::chrono::nanoseconds duration{};
  unsigned frequency_hz = 0;
  bool wall = false;     // waiting threads should be sampled, too
  bool off_cpu = false;  // only waiting threads should be sampled
  // samples were taken at intervals, not at events of the processor
  bool ptrace = false;
  bool bpf_helps = false;  // BPF could be used instead
};

// Returns one clause: "the target ran on a processor for 3 ms of 1,038 ms, ...".
std::string why_no_sample(const NoSample& recording);

}  // namespace labelscope::cli
