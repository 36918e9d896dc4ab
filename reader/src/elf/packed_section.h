// Sections that a linker compressed (SHF_COMPRESSED): a header with the size, then the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelscope/result.h"

namespace labelscope {

// kLimit: it claims to be larger than `most` bytes; nothing is unpacked then. kUnsupported: libelf
// cannot unpack it (another algorithm than zlib's, or bytes that are none). Source: gABI chapter 4,
// "Section Compression".
Result<std::vector<std::byte>> unpack_section(std::span<const std::byte> packed,
                                              std::uint64_t most);

}  // namespace labelscope
