// Which files a dead process had mapped, if the core has no NT_FILE note (kernels before 3.7, gdb
// before 7.6, emulators). The loader's own list tells (link_map.h):
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
  // Files that were not found, so that their segments are not known; or, without a path, the list
  // itself.
  std::vector<CoreFileProblem> problems;
};

// The list has no segments: only the files tell where these are. So the files must be found.
LinkedFiles list_linked_files(const CoreNotes& notes, const DumpedMemory& dumped, Machine machine,
                              FileFinder& finder);

}  // namespace labelscope
