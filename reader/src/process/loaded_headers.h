// The first page of an ELF file as it was mapped: what a core file has of a file in any case
// (coredump_filter bit 4), and enough to tell whether a file found later is the same one.
#pragma once

#include <string>

#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope {

struct LoadedHeaders {
  bool is_elf = false;
  std::string build_id;  // empty: it has none, or its note was not dumped
};

// `start`: where offset 0 of the file was mapped. kUnreadable: nothing of it was dumped.
Result<LoadedHeaders> read_loaded_headers(const MemorySource& dumped, Address start);

}  // namespace labelscope
