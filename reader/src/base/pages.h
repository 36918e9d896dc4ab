// Pages of memory, as files are mapped by them.
#pragma once

#include <cstdint>

namespace labelscope {

// It divides the pages of both processors.
constexpr std::uint64_t kPage = 4096;

// These return the last multiple of a page that is not above the value, and the first that is not
// below.
constexpr std::uint64_t page_down(std::uint64_t value) { return value & ~(kPage - 1); }
constexpr std::uint64_t page_up(std::uint64_t value) { return page_down(value + kPage - 1); }

}  // namespace labelscope
