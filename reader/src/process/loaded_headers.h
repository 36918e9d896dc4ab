// This reads the first page of an ELF file as it was mapped. A core file has that page in any case
// (coredump_filter bit 4), and it is enough to find out whether a file found later is the same one.
#pragma once

#include <string>

#include "labelscope/ids.h"
#include "labelscope/memory.h"

namespace labelscope {

struct LoadedHeaders {
  bool is_elf = false;
  std::string build_id;  // empty if it has none, or if its note was not dumped
};

// `start` is where offset 0 of the file was mapped. Fails with kUnreadable if nothing of it was
// dumped.
Result<LoadedHeaders> read_loaded_headers(const MemorySource& dumped, Address start);

}  // namespace labelscope
