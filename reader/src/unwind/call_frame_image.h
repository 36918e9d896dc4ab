// The part of an ELF file that unwinding needs, as a small ELF file in memory.
//
// libdwfl reads whatever it wants of a file whenever it finds that it wants it: sections of debug
// information, decompressed, while a thread is held. And it maps files, so that one which shrinks
// is a SIGBUS. Given a file with nothing in it but headers and call frame information, it can do
// neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/memory.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class CallFrameImage {
 public:
  // kMalformed, kUnsupported: no ELF file of ours; kNotFound: one without call frame information.
  static Result<std::shared_ptr<CallFrameImage>> from_file(UniqueFd file);
  // Of a module that is mapped from its first byte on, without its file (the vDSO has none).
  static Result<std::shared_ptr<CallFrameImage>> from_memory(const MemorySource& memory,
                                                             Address start);

  // An ELF file with the original's program headers; libelf does not change it.
  std::span<std::byte> bytes() { return bytes_; }
  Machine machine() const { return machine_; }
  // Link-time address of the first page, as libdwfl counts: with the segment's own alignment.
  std::uint64_t first_page() const { return first_page_; }
  // Entries of functions that no search table leads to.
  std::size_t entries_without_table() const { return entries_without_table_; }

 private:
  std::vector<std::byte> bytes_;
  Machine machine_{};
  std::uint64_t first_page_ = 0;
  std::size_t entries_without_table_ = 0;

  friend class CallFrameCopy;
};

}  // namespace labelscope
