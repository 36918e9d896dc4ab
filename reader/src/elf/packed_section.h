// This unpacks sections that a linker has compressed (SHF_COMPRESSED): a header with the size, then
// the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelscope/result.h"

namespace labelscope {

// Fails with kLimit if the section claims to be larger than `most` bytes, and then unpacks nothing.
// Fails with kUnsupported if libelf cannot unpack it (another algorithm than zlib's, or bytes that
// are not compressed). Source: gABI chapter 4, "Section Compression".
Result<std::vector<std::byte>> unpack_section(std::span<const std::byte> packed,
                                              std::uint64_t most);

}  // namespace labelscope
