// The ledger of stacks: samples = complete + incomplete (by reason). Complete is only what reached
// the start of its thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// In a profile whose addresses are named: settles the ends that only names tell, and counts the
// stacks by their ends. The ledger gets a counter for each end ("stacks-complete", for example).
void count_stack_ends(Profile& profile);
// Whether a counter of a ledger is one of these.
bool counts_stacks(std::string_view counter);

// Which share of the stacks reached the start of their thread, where it is worth a word: more than
// a tenth did not. Empty otherwise, and where no stacks were asked for.
std::string stack_ends_text(const Profile& profile);

}  // namespace labelscope::cli
