// What the values of variables, and of presets, have in common: how text is read, and what is made
// of bytes of each kind.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "labelscope/memory.h"
#include "labelscope/variable_type.h"

namespace labelscope {

// No user address of either processor has this bit or a higher one, as in label_room.bpf.h.
inline constexpr Address kUserAddressEnd = Address{1} << 57;

// Text is read up to so many bytes, the NUL included.
inline constexpr std::size_t kMostText = LS_VARIABLE_MAX_BYTES + 1;

// Reads text up to its NUL. Returns the number of its bytes with the NUL; kMostText + 1 if it is
// longer (then there is a NUL in the last byte of `out`); 0 if it cannot be read.
std::size_t read_c_string(const MemorySource& memory, Address text,
                          std::span<std::byte, kMostText> out);

// Makes text of a value. Returns nothing if no value of this kind (enum ls_variable_kind) has so
// many bytes.
std::optional<std::string> value_text(unsigned kind, std::span<const std::byte> bytes);

}  // namespace labelscope
