// This makes a file of a module without one: the vDSO has none, others were deleted, and a core
// file may have come alone.
#pragma once

#include <string>
#include <string_view>

#include "labelscope/memory.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// Returns a file in memory with the segments that are mapped from `start` on, its first byte. Pages
// that cannot be read, and segments that can be written, are zeros. `path` is what is mapped there:
// it may be any text, and named_copy() finds it. Fails with kMalformed if no ELF file begins there,
// and with kLimit if the file or the sum of its segments is larger than 256 MiB.
Result<UniqueFd> copy_module(const MemorySource& memory, Address start, std::string_view path);

// Returns what a message should call a file that the kernel knows by `path`: for a file of
// copy_module() the path that it is a copy of, at most its last 200 bytes.
std::string named_copy(std::string_view path);

}  // namespace labelscope
