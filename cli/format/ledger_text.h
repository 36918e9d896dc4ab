// The numbers of a recording that add up, as sentences: on stderr at its end, and in the page.
#pragma once

#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// "1,000 samples by cpu-clock = 900 labelled + ...; 1,000 written, 0 dropped".
std::string ledger_line(const Profile& profile);
// "8.02 s of CPU time by the kernel's account = 7.95 s attributed (99.1%) + ...".
std::string time_line(const Profile& profile);
// Whether taken = sum of outcomes and written = taken - dropped.
bool adds_up(const Ledger& ledger);

}  // namespace labelscope::cli
