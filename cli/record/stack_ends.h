// The ledger of stacks: samples = complete + incomplete (by reason). A stack is complete only if it
// reached the start of its thread.
#pragma once

#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Settles the ends that only names can decide, in a profile whose addresses are named, and counts
// the stacks by their ends. The ledger gets a counter for each end (for example "stacks-complete").
void count_stack_ends(Profile& profile);

// The sentence on how many stacks reached the start of their thread, if more than a tenth did not.
// Empty otherwise, and if no stacks were asked for.
std::string stack_ends_text(const Profile& profile);

}  // namespace labelscope::cli
