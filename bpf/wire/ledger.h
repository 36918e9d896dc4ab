// The counters of the BPF programs as a ledger: what was taken, and what became of it.
#pragma once

#include "bpf/wire/counters.h"
#include "bpf/wire/records.h"
#include "sampling/sampler.h"

namespace labelscope {

// All that the kernel side knows of; repeated reads without an answer are `pending`.
Counters make_ledger(const ls_counters& counters);
// False in the middle of a repeated read, whose outcome and end are counted one after the other.
bool adds_up(const ls_counters& counters);

}  // namespace labelscope
