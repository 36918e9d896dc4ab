// What a recording says on stderr about its targets and about itself.
#pragma once

#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/record/tracked_process.h"

namespace labelscope::cli {

// "4242 (postgres): labels from /usr/lib/libcustomlabels.so (TLSDESC (static))", or the reason why
// there are none.
std::string describe_labels(const TrackedProcess& process);

// The numbers that add up, in one line, and a line for each problem among them. The last line of
// output is ledger_line().
std::vector<std::string> ledger_problems(const Ledger& ledger);
std::string ledger_line(const Profile& profile);
// "8.02 s of CPU time by the kernel's account = 7.95 s attributed (99.1%) + ...".
std::string time_line(const Profile& profile);
// Whether taken = sum of outcomes and written = taken - dropped.
bool adds_up(const Ledger& ledger);

}  // namespace labelscope::cli
