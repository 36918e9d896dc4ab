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

// Returns the mappings as the kernel lists them; none if the process is ending. Of those that have
// neither a file nor a name nor code it returns only the first kMostUnnamed that can be read. It
// reads no memory and no file of the process, so code that was copied out of a file has none.
Result<std::vector<Mapping>> listed_mappings(const LiveProcess& process);
// Does the same, and finds the files of copied code (copied_text.h), as process.mappings() does.
Result<std::vector<Mapping>> named_mappings(const LiveProcess& process);

}  // namespace labelscope
