// This finds the files of a process that were loaded after its start. ABI v1 accepts no labels from
// these: a reader that looks only once, at the start, misses them.
#pragma once

#include <optional>
#include <set>

#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// Returns nullopt if that is not known, or not known now: for a static program; for a loader's list
// that cannot be read, or that the loader is changing; and if no entry of the list has the name of
// a needed file. A file that may have been there from the start (preloaded, or needed by one that
// was, however indirectly) is never in the set. The function opens every loaded file. It is
// thread-safe.
std::optional<std::set<FileId>> files_loaded_later(const Target& target);

}  // namespace labelscope
