// Files that are no recording and no pprof file, by how they begin: so that the message says what a
// file is, and which program makes a pprof file of it.
#pragma once

#include <string>
#include <string_view>

namespace labelscope::cli {

// Why a file that begins like this cannot be read, and what to do; empty: it is nothing that is
// known. For JSON the first line is enough.
std::string why_not_read(std::string_view begin);

}  // namespace labelscope::cli
