// .gnu_debugdata ("MiniDebugInfo"): an ELF file with the names of functions that strip(1) would
// have taken away, packed by xz(1), in a section of the stripped file.
//
// libdwfl unpacks it as soon as it looks for symbols, however large the result is. So it is
// unpacked here before, without keeping the result, to see whether the file's budget pays for it.
#pragma once

#include <libelf.h>

#include "cli/names/budget.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Returns whether there is such a section. If this fails there is one, and libdwfl must not look
// for symbols. With kLimit the budget knows the reason.
Result<bool> check_packed_symbols(Elf* elf, Budget& budget);

}  // namespace labelscope::cli
