// These functions open files whose names cannot be trusted: from a core file, from a process's
// mappings, or found below a directory.
//
// The problem: opening a file is not always harmless. A device may do something, a FIFO blocks, and
// the kernel makes files below /proc, /sys and the like when they are opened or read, which may
// start tracing or ask the hardware. So this first looks at the file without opening it (O_PATH,
// open(2)). It opens the file only if it is a regular file in a file system that stores files.
#pragma once

#include <cstddef>
#include <string>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// Opens a file for reading. Fails with kNotFound, kPermission or kSystem if it cannot be opened,
// and with kUnsupported if it must not be. All functions here are thread-safe.
Result<UniqueFd> open_regular_file(const std::string& path);
// Opens the file of an O_PATH descriptor.
Result<UniqueFd> open_regular_file(const UniqueFd& place);
// Opens an absolute path, resolved as if `root` were the root (RESOLVE_IN_ROOT of openat2(2)):
// neither ".." nor an absolute link leaves it. `flags` is O_NOFOLLOW if the file itself must not be
// a link.
Result<UniqueFd> open_regular_file_below(const std::string& root, const std::string& path,
                                         int flags = 0);

// Reads from where the descriptor stands to the end of the file, and no more than `most` bytes.
Result<std::string> read_up_to(const UniqueFd& file, std::size_t most);

// Returns whether the path is in a file system that the kernel makes up, such as /proc, or false if
// that is not known. Links are followed.
bool in_kernel_file_system(const std::string& path);

}  // namespace labelscope
