// Which files a dead process had mapped, where the core does not say it (no NT_FILE note: kernels
// before 3.7, gdb before 7.6, emulators): from the loader's own list (link_map.h), which starts in
// the main executable, and that is where AT_PHDR leads.
#pragma once

#include <vector>

#include "core/core_memory.h"
#include "core/core_notes.h"
#include "core/file_finder.h"

namespace labelscope {

struct LinkedFiles {
  std::vector<MappedRange> ranges;
  // Files whose segments cannot be known without them; or the list itself, without a path.
  std::vector<CoreFileProblem> problems;
};

// The files themselves tell where their segments are, so they must be found.
LinkedFiles list_linked_files(const CoreNotes& notes, const DumpedMemory& dumped, Machine machine,
                              FileFinder& finder);

}  // namespace labelscope
