// Sentences in lines that fit a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace labelscope::cli {

// `text`, escaped already, broken between words into lines of at most `width` characters (0: one
// line). Spaces in front of it are kept, and lines after the first have four more. A word that is
// too long stays whole.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace labelscope::cli
