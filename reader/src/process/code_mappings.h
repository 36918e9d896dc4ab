// The executable mappings of a process. It may have 60,000 others, and may map code at any moment,
// so a kernel that can is asked for these alone.
#pragma once

#include <vector>

#include "labelscope/mapping.h"
#include "labelscope/result.h"
#include "labelscope/target.h"
#include "process/one_look.h"

namespace labelscope {

// Returns what is executable of process.mappings(), with the same errors.
Result<std::vector<Mapping>> code_mappings(const LiveProcess& process);
Result<std::vector<Mapping>> code_mappings(const OneLook& look);

}  // namespace labelscope
