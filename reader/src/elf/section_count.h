// This must be checked before libelf opens a file: how many sections does the file claim to have?
//
// elf_begin(3) allocates some hundred bytes for each. The number is 16 bits wide, or else a 64-bit
// word that only the file's size bounds, and a file full of holes may have any size. The check
// reads every class and byte order, as libelf does. Source: System V gABI chapter 4, "ELF Header".
#pragma once

#include "labelscope/result.h"

namespace labelscope {

// Fails with kLimit if there are more than any linked file has. A file that is not ELF passes:
// libelf refuses it itself. The caller keeps the descriptor. It is thread-safe.
Status check_section_count(int file);

}  // namespace labelscope
