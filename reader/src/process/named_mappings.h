// The mappings that planning looks at. A process may have 60,000 of memory without a name, of which
// it looks at few.
#pragma once

#include <cstddef>
#include <vector>

#include "labelscope/mapping.h"
#include "labelscope/result.h"
#include "labelscope/target.h"

namespace labelscope {

// Of memory without a name, so many mappings that can be read are searched for a process context
// (labelscope/process_facts.h).
inline constexpr std::size_t kMostUnnamed = 1024;

// Returns process.mappings(), with the same errors, but of those that have neither a file nor a
// name nor code only the first kMostUnnamed that can be read.
Result<std::vector<Mapping>> named_mappings(const LiveProcess& process);
// Returns the same as the kernel lists it: code that was copied has no file (copied_text.h). This
// reads neither memory nor files of the process.
Result<std::vector<Mapping>> listed_mappings(const LiveProcess& process);

}  // namespace labelscope
