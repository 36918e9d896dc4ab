// What the terminal behind a stream can show.
#pragma once

#include <cstddef>

namespace labelscope::cli {

enum class ColorMode { kAuto, kAlways, kNever };  // --color

// The mode, NO_COLOR, and whether it is a terminal at all, one that has colours (TERM).
bool use_color(ColorMode mode, int fd);
// 0: it is no terminal.
std::size_t terminal_width(int fd);
// UTF-8 by the locale.
bool shows_unicode();

}  // namespace labelscope::cli
