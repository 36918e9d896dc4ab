// Counts the rows of a unit's line table without making them. One byte may be one row, for which
// libdw needs a hundred bytes, and libdw makes all rows of a unit before it answers a question
// about one address. Source: DWARF 5, section 6.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace labelscope::cli {

// `section` is .debug_line, unpacked; the table begins at `offset`. If the table contradicts
// itself, it counts the rows before that place: libdw ends there, too.
std::uint64_t count_line_rows(std::span<const std::byte> section, std::uint64_t offset,
                              bool little_endian);

}  // namespace labelscope::cli
