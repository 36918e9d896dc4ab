// The sections of debug information that are read here and not by libdw, and how their pages leave
// memory again.
//
// A large file is mapped (elf_symbols.cc). Each page of it that is read counts as memory of the
// worker until the kernel needs it for others: after reading a gigabyte of debug information, a
// gigabyte. What has been read is read once more at most, and then from the page cache, so the
// worker lets go of it now and then.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <span>
#include <vector>

#include "cli/names/line_table.h"

namespace labelscope::cli {

struct DebugSections {
  DebugSections() = default;
  // Takes sections as libdw sees them: it unpacks them in place.
  explicit DebugSections(Elf* elf);

  // Lets go of pages of the file. What was unpacked, or read, stays.
  void release_pages() const;

  std::span<const std::byte> info;
  std::span<const std::byte> abbreviations;
  LineSections lines;

 private:
  std::vector<std::span<const std::byte>> all_;
};

// Returns whether the memory is a view of a file, which the kernel can read again. False if that is
// not certain.
bool is_view_of_file(std::span<const std::byte> memory);

}  // namespace labelscope::cli
