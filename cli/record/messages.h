// What a recording prints on stderr about its targets and about itself.
#pragma once

#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/record/tracked_process.h"

namespace labelscope::cli {

// Returns "4242 (postgres): labels from /usr/lib/libcustomlabels.so", or the reason why there are
// none.
std::string describe_labels(const TrackedProcess& process);

// Returns a line for each problem among the numbers of a ledger (cli/format/common/ledger_text.h).
// `bpf_helps`: --backend bpf was not used, and would help.
std::vector<std::string> ledger_problems(const Ledger& ledger, bool bpf_helps = false);

}  // namespace labelscope::cli
