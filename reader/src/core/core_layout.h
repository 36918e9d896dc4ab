// What a core file's headers say: the machine, which memory is where in the file, and where the
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
  std::uint64_t expected_size = 0;  // of a core file that is whole
};

// kMalformed, kUnsupported: no core file (and what it is instead, where that can be told), or of
// another kind than these. `file_size`: of the file as it is.
Result<CoreLayout> read_core_layout(const LoadedFile& file, std::uint64_t file_size);

// The segment that holds `address`, or nullptr.
const CoreSegment* find_segment(const std::vector<CoreSegment>& segments, Address address);

}  // namespace labelscope
