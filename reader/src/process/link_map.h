// The loader's own list of what it has loaded, which debuggers follow:
//
//   dynamic section of the main executable -> DT_DEBUG -> struct r_debug -> struct link_map -> ...
//
// It may loop or lead anywhere: it is followed for a bounded number of steps, to no address twice.
//
// Source: <link.h>; System V gABI chapter 5, "Dynamic Section".
#pragma once

#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope {

// struct link_map, as far as it is public.
struct LoadedLink {
  Address bias = 0;
  Address name = 0;  // of its path; see target_text()
  Address dynamic = 0;
  Address next = 0;
};

struct LinkMap {
  std::vector<LoadedLink> links;  // in the order of loading, the main executable first
  bool complete = false;          // read to its end
  bool consistent = false;        // the loader is not in the middle of changing it
};

// `dynamic`: runtime address of the main executable's dynamic section. Empty where it has no list.
LinkMap read_link_map(const MemorySource& memory, Address dynamic);

// A text of the target up to its zero: at most 4,096 bytes, and only those that can be read.
std::string target_text(const MemorySource& memory, Address address);

}  // namespace labelscope
