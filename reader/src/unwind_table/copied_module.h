// This makes a file of a module without one: the vDSO has none, others were deleted, and a core
// file may have come alone.
#pragma once

#include "labelscope/memory.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// Returns an unnamed file with the segments that are mapped from `start` on, its first byte. Pages
// that cannot be read, and segments that can be written, are zeros. Fails with kMalformed if no ELF
// file begins there, and with kLimit if it is larger than 256 MiB.
Result<UniqueFd> copy_module(const MemorySource& memory, Address start);

}  // namespace labelscope
