// This makes a ledger of the BPF programs' counters: what was taken, and what became of it.
#pragma once

#include "bpf/wire/counters.h"
#include "bpf/wire/records.h"
#include "sampling/sampler.h"

namespace labelscope {

// Returns all that the kernel side has counted; repeated reads without an answer are `pending`.
Counters make_ledger(const ls_counters& counters);
// Returns false in the middle of a repeated read, whose outcome and end are counted one after the
// other.
bool adds_up(const ls_counters& counters);

}  // namespace labelscope
