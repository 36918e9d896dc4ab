// This reads the loader's own list of what it has loaded. Debuggers follow it, too:
//
//   dynamic section of the       struct r_debug           struct link_map
//   main executable
//   [ ... | DT_DEBUG | ... ] --> [ r_map | r_state ] ---> [ bias | name | dynamic | next ] -> ...
//
// The memory is the target's, so the list may loop or lead anywhere. The walk takes a bounded
// number of steps, and visits no address twice.
//
// Source: <link.h>; System V gABI chapter 5, "Dynamic Section".
#pragma once

#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope {

// The public part of struct link_map.
struct LoadedLink {
  Address bias = 0;
  Address name = 0;  // address of its path; see target_text()
  Address dynamic = 0;
  Address next = 0;
};

struct LinkMap {
  std::vector<LoadedLink> links;  // in the order of loading, the main executable first
  bool complete = false;          // true if the walk came to the list's end
  bool consistent = false;        // true if the loader is not changing the list at the moment
};

// `dynamic` is the runtime address of the main executable's dynamic section. Returns nothing if
// there is no list.
LinkMap read_link_map(const MemorySource& memory, Address dynamic);

// Reads a zero-terminated text of the target: at most 4,096 bytes, and only up to memory that
// cannot be read.
std::string target_text(const MemorySource& memory, Address address);

}  // namespace labelscope
