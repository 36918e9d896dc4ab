// This reads a core file's headers: the machine, which memory is where in the file, and where the
// notes are. The file may be hostile: sizes and counts are bounded, and overlapping segments are
// cut.
//
// Source: System V gABI chapters 4 and 5; the kernel's fs/binfmt_elf.c (elf_core_dump).
#pragma once

#include <cstdint>
#include <vector>

#include "elf/loaded_file.h"
#include "labelscope/elf_types.h"
#include "labelscope/ids.h"

namespace labelscope {

// A mapping of the process. The core has the first file_size bytes of its memory. The rest was not
// dumped, which does not mean that it is zero.
struct CoreSegment {
  Address start = 0;
  Address end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

struct NoteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct CoreLayout {
  Machine machine{};
  std::vector<CoreSegment> segments;  // by address, none overlapping another
  std::vector<NoteRange> notes;
  std::uint64_t expected_size = 0;  // size of the core file if it is whole
};

// Fails with kMalformed or kUnsupported if it is no core file (and names what it is instead, if
// that is known), or one of another kind. `file_size` is the size of the file as it is.
Result<CoreLayout> read_core_layout(const LoadedFile& file, std::uint64_t file_size);

// Returns the segment that holds `address`, or nullptr.
const CoreSegment* find_segment(const std::vector<CoreSegment>& segments, Address address);

}  // namespace labelscope
