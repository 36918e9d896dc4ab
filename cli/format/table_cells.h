// What tables on a terminal are made of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace labelscope::cli {

// A label's value, escaped. Rows of our own are in parentheses, those of functions begin with
// spaces. A value that looks like one is put in quotes.
std::string shown_value(std::string_view value);

// Cut or filled up to `width` columns.
std::string cell(std::string_view text, std::size_t width, bool unicode);
std::string right(std::string_view text, std::size_t width);

}  // namespace labelscope::cli
