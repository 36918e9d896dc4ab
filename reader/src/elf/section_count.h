// A question to ask before libelf is given a file: how many sections does it claim to have?
//
// elf_begin(3) allocates some hundred bytes for each. The number is 16 bits wide, or else a 64-bit
// word that the file's size bounds, and a file full of holes has any size for nothing. Of every
// class and byte order, as libelf reads them. Source: System V gABI chapter 4, "ELF Header".
#pragma once

#include "labelscope/result.h"

namespace labelscope {

// kLimit: more than any linked file has. What is no ELF file passes: libelf refuses that itself.
// The descriptor stays the caller's. Thread-safe.
Status check_section_count(int file);

}  // namespace labelscope
