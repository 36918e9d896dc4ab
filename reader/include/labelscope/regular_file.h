// Opening files whose names are a stranger's: out of a core file or of a process's mappings, or
// found below a directory.
//
// Opening is no harmless act everywhere: a device does something, a FIFO waits, and files below
// /proc, /sys and the like are made by the kernel as they are opened or read, some for a price
// (tracing that starts, hardware that is asked). So a file is looked at without being opened
// (O_PATH, open(2)) and opened only if it is a regular one of a file system that stores files.
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
// ".." nor an absolute link leaves it.
Result<UniqueFd> open_regular_file_below(const std::string& root, const std::string& path);

// Whether the path lies in a file system that the kernel makes up, such as /proc; false if that
// cannot be told. Links are followed.
bool in_kernel_file_system(const std::string& path);

}  // namespace labelscope
