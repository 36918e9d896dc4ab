// Recognizes files that are no recording and no pprof file by how they begin, so that the message
// can name the kind of file, and a program that makes a pprof file of it.
#pragma once

#include <string>
#include <string_view>

namespace labelscope::cli {

// Explains why a file that begins like this cannot be read, and what to do; empty: its kind is
// unknown. For JSON the first line is enough.
std::string why_not_read(std::string_view begin);

}  // namespace labelscope::cli
