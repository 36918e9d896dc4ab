// The functions in an ELF file's own symbol tables, with their start addresses (for breakpoints).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/worker/worker_main.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct FunctionSymbol {
  Address start = 0;  // link-time address
  Address end = 0;    // past its last byte; `start` if its size is unknown
  std::string name;   // its name in the symbol table; empty in a stripped file
};

// Returns the defined functions of .symtab and .dynsym, sorted by start. If one address has several
// names, it has the one that people use. In a file without .symtab it adds those that a Go program
// knows by itself, and functions of the unwind tables, without a name. `fd` stays open. Fails with
// kMalformed if it is no ELF file or contradicts itself. It runs in the worker:
// FileNamer::functions() asks for it.
Result<std::vector<FunctionSymbol>> read_functions(int fd);

// The worker's task, and its result. A reply has any number of functions.
inline constexpr std::string_view kFunctionsTask = "functions";
Answer make_functions_task();
class FunctionsReader {
 public:
  // Fails with kMalformed if it cannot be an answer.
  Status take(std::string_view body);
  std::vector<FunctionSymbol> functions;

 private:
  std::size_t text_ = 0;
};

}  // namespace labelscope::cli
