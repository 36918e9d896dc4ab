// How many rows a unit's line table has, without making them: one byte may be one row, for which
// libdw needs a hundred bytes, and it makes all rows of a unit before it answers a question about
// one address. Source: DWARF 5, section 6.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace labelscope::cli {

// `section` is .debug_line, unpacked; `offset` where the table begins. Of a table that contradicts
// itself, the rows before that: libdw ends there, too.
std::uint64_t count_line_rows(std::span<const std::byte> section, std::uint64_t offset,
                              bool little_endian);

}  // namespace labelscope::cli
