// The ledger of stacks: samples = complete + incomplete (by reason). Complete is only what reached
// the start of its thread.
#pragma once

#include <string>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// Counts, in a profile whose addresses are named, how stacks by frame pointers ended, and adds the
// counters to its ledger: "stacks-complete", "stacks-without-start", "stacks-too-deep" and
// "stacks-missing". How stacks that were unwound ended is known to the sampler, which counts the
// first one itself.
void count_stack_ends(Profile& profile);

// Which share of the stacks reached the start of their thread, where it is worth a word: more than
// a tenth did not. Empty otherwise, and where no stacks were asked for.
std::string stack_ends_text(const Profile& profile);

}  // namespace labelscope::cli
