// The functions in an ELF file's own symbol tables, with their start addresses (for breakpoints).
#pragma once

#include <string>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct FunctionSymbol {
  Address start = 0;  // link-time address
  Address end = 0;    // past its last byte; `start` if its size is not known
  std::string name;   // as the symbol table has it
};

// The defined functions of .symtab and .dynsym, sorted by start. If one address has several names,
// the one that people use. `fd` stays open. kMalformed: no ELF file, or one that contradicts
// itself.
Result<std::vector<FunctionSymbol>> read_functions(int fd);

}  // namespace labelscope::cli
