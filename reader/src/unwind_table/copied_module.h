// A module without its file, as a file: the vDSO has none, others were deleted, and a core file may
// have come alone.
#pragma once

#include "labelscope/memory.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// An unnamed file with the segments that are mapped from `start` on, its first byte. Pages that
// cannot be read, and segments that can be written, are zeros. kMalformed: no ELF file begins
// there; kLimit: it is larger than 256 MiB.
Result<UniqueFd> copy_module(const MemorySource& memory, Address start);

}  // namespace labelscope
