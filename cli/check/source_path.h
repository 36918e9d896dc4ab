// Paths as tools of a repository want them: relative to its top folder, which is where they run.
// Thread-safe, but for a change of the current directory meanwhile.
#pragma once

#include <string>
#include <string_view>

namespace labelscope::cli {

// Without "./", "//" and "x/.."; relative where it lies below the current directory. The same file
// named in another way is the same text, as far as the names alone tell.
std::string source_path(std::string_view path);

// That as a URI reference (RFC 3986): percent-encoded, absolute paths with file://.
std::string source_uri(std::string_view path);

}  // namespace labelscope::cli
