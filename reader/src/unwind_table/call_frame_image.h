// The part of an ELF file that unwinding needs, as a small ELF file in memory.
//
// libdw reads whatever it wants of a file whenever it finds that it wants it: sections of debug
// information, decompressed. And it maps files, so that one which shrinks is a SIGBUS. Given a file
// with nothing in it but headers and call frame information, it can do neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

class CallFrameImage {
 public:
  // kMalformed, kUnsupported: no ELF file of ours; kNotFound: one without call frame information.
  static Result<std::shared_ptr<CallFrameImage>> from_file(UniqueFd file);

  // An ELF file with the original's program headers; libelf does not change it.
  std::span<std::byte> bytes() { return bytes_; }
  Machine machine() const { return machine_; }
  // Entries of functions that no search table leads to.
  std::size_t entries_without_table() const { return entries_without_table_; }

 private:
  std::vector<std::byte> bytes_;
  Machine machine_{};
  std::size_t entries_without_table_ = 0;

  friend class CallFrameCopy;
};

}  // namespace labelscope
