// The functions in an ELF file's own symbol tables, with their start addresses (for breakpoints).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/worker/worker_main.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct FunctionSymbol {
  Address start = 0;  // link-time address
  Address end = 0;    // past its last byte; `start` if its size is not known
  std::string name;   // as the symbol table has it; empty in a stripped file
};

// The defined functions of .symtab and .dynsym, sorted by start. If one address has several names,
// the one that people use. In a file without .symtab also those that a Go program knows by itself,
// and where the unwind tables have functions, without a name. `fd` stays open. kMalformed: no ELF
// file, or one that contradicts itself. For the worker: FileNamer::functions() asks it.
Result<std::vector<FunctionSymbol>> read_functions(int fd);

// The worker's task, and what comes of it. A reply is any number of functions.
inline constexpr std::string_view kFunctionsTask = "functions";
Answer make_functions_task();
class FunctionsReader {
 public:
  // kMalformed: it cannot be the answer.
  Status take(std::string_view body);
  std::vector<FunctionSymbol> functions;

 private:
  std::size_t text_ = 0;
};

}  // namespace labelscope::cli
