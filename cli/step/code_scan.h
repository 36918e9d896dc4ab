// Places in machine code that may refer to a thread-local variable: by its offset from the thread
// pointer, or by the slot through which it is reached. It looks for the numbers and does not follow
// the code, so it may find too many, and none where the address comes from somewhere else.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/step/breakpoints.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

struct VariableReferences {
  std::vector<std::int64_t> tp_offsets;
  std::vector<Address> slots;  // runtime addresses of words of a global offset table
};

// Addresses of bytes within the instructions, ascending.
std::vector<Address> find_references(const Breakpoints& memory, Address start, Address end,
                                     const VariableReferences& wanted);

}  // namespace labelscope::cli
