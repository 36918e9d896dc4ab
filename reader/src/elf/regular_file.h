// Opens files whose names we cannot trust: from a core file, from a process's mappings, or found
// below a directory.
//
// The problem: to open a file is not always harmless. A device may do something, a FIFO blocks, and
// the kernel makes files below /proc, /sys and the like when they are opened or read, which may
// start tracing or ask the hardware. So this first looks at the file without opening it (O_PATH,
// open(2)). It opens the file only if it is a regular file in a file system that stores files.
#pragma once

#include <string>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// For reading. kNotFound, kPermission, kSystem: it cannot be opened; kUnsupported: it must not be.
// Thread-safe, as is all here.
Result<UniqueFd> open_regular_file(const std::string& path);
// What an O_PATH descriptor stands for.
Result<UniqueFd> open_regular_file(const UniqueFd& place);
// An absolute path, resolved as if `root` were the root (RESOLVE_IN_ROOT of openat2(2)): neither
// ".." nor an absolute link leaves it. `flags`: O_NOFOLLOW, where the file itself must be no link.
Result<UniqueFd> open_regular_file_below(const std::string& root, const std::string& path,
                                         int flags = 0);

// Whether the path lies in a file system that the kernel makes up, such as /proc; false if that
// cannot be told. Links are followed.
bool in_kernel_file_system(const std::string& path);

}  // namespace labelscope
