// Which files of a process were loaded after its start. ABI v1 accepts no labels from these: a
// reader that looks only once, at the start, misses them.
#pragma once

#include <optional>
#include <set>

#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// nullopt: it cannot be told, or not now: a static program; a loader's list that cannot be read, or
// that the loader is changing; a needed file that no entry of the list has the name of. A file that
// may have been there from the start (preloaded, or needed by one that was, however indirectly) is
// never in the set. Opens every loaded file. Thread-safe.
std::optional<std::set<FileId>> files_loaded_later(const Target& target);

}  // namespace labelscope
