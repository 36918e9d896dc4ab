// This finds the files that a dead process had mapped, if the core has no NT_FILE note (kernels
// before 3.7, gdb before 7.6, emulators). They are in the loader's own list (link_map.h):
//
//   AT_PHDR --> main executable --> its dynamic section --> list of loaded files
#pragma once

#include <vector>

#include "core/core_memory.h"
#include "core/core_notes.h"
#include "core/file_finder.h"

namespace labelscope {

struct LinkedFiles {
  std::vector<MappedRange> ranges;
  // Files that were not found, so that their segments are not known. A problem without a path is
  // about the list itself.
  std::vector<CoreFileProblem> problems;
};

// The list has no segments, which are only in the files. So the files must be found.
LinkedFiles list_linked_files(const CoreNotes& notes, const DumpedMemory& dumped, Machine machine,
                              FileFinder& finder);

}  // namespace labelscope
