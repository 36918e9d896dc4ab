// The name of a function as DWARF tells it: its linkage name, or, for functions that have none
// (those of unnamed namespaces, lambdas, C), its own name behind those of the namespaces and
// classes around it.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>

#include "cli/profile/profile.h"

namespace labelscope::cli {

class DwarfNames {
 public:
  // Fills line.system_name, and line.function where it cannot be had by demangling system_name.
  void fill(Dwarf_Die function, SourceLine& line);

 private:
  // To find what is around an entry, its unit must be walked from the top: done once for each
  // function.
  std::unordered_map<Dwarf_Off, std::string> qualified_;
};

}  // namespace labelscope::cli
