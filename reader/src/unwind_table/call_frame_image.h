// CallFrameImage is the part of an ELF file that unwinding needs, as a small ELF file in memory.
//
// libdw may read any part of a file at any time, such as sections of debug information, which it
// decompresses. And it maps files, so that a file which shrinks causes a SIGBUS. With a file that
// has only headers and call frame information, neither can happen.
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
  // Fails with kMalformed or kUnsupported if this is no ELF file of a supported machine, and with
  // kNotFound if it has no call frame information.
  static Result<std::shared_ptr<CallFrameImage>> from_file(UniqueFd file);

  // Returns an ELF file with the original's program headers; libelf does not change it.
  std::span<std::byte> bytes() { return bytes_; }
  Machine machine() const { return machine_; }
  // Returns the number of entries of functions that no search table leads to.
  std::size_t entries_without_table() const { return entries_without_table_; }

 private:
  std::vector<std::byte> bytes_;
  Machine machine_{};
  std::size_t entries_without_table_ = 0;

  friend class CallFrameCopy;
};

}  // namespace labelscope
