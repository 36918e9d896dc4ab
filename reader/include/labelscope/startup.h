// Which files of a process were loaded after it had started: those from which ABI v1 accepts no
// labels, since a reader that looks once at the beginning misses them.
#pragma once

#include <optional>
#include <set>

#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// nullopt: it cannot be told, or not now: a static program, a loader whose list cannot be read or is
// just changing, a dependency under a name that no file has. A file that may have been there from
// the start (needed by one that was, however indirectly, or preloaded) is never among them. Opens
// every loaded file. Thread-safe.
std::optional<std::set<FileId>> files_loaded_later(const Target& target);

}  // namespace labelscope
