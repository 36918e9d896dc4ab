// Files that objcopy --only-keep-debug makes, and packages of debug information hold.
#pragma once

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

// It has the headers, the symbols and the build ID of the file that it belongs to, but not its
// bytes: nobody can run or load it. False for what cannot be read, too.
bool has_only_debug_information(const UniqueFd& file);
// kUnsupported, for whom such a file was given.
Error only_debug_information();

}  // namespace labelscope
