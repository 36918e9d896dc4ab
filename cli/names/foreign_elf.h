// What libelf says of a foreign file before libdw sees it: whether it is an ELF file of an ordinary
// size, of which build it is, where it is loaded, and what unpacking it would cost.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/names/names_messages.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// The caller ends it.
Result<Elf*> open_elf(int fd);
// Returns the build ID as hexadecimal digits; empty if there is none.
std::string build_id_of(Elf* elf);
bool has_section(Elf* elf, GElf_Word type);
// Returns the size of what libdw unpacks as soon as it opens the debug information, or libdwfl for
// symbols alone: compressed sections of the current or the older kind (".zdebug_", with their size
// in the file, big-endian).
std::uint64_t packed_size(Elf* elf, NamesFrom from);
// Returns how the sections of its debug information are packed, if libelf cannot unpack them: it
// knows zlib, and since its version 0.189 zstd, where it was built so. Returns null if it can, or
// if they are not packed.
const char* unknown_packing(Elf* elf);
// Returns the checksum of a debug link.
std::optional<std::uint32_t> checksum_of(int fd);

// The range of addresses that the file is loaded to. `start` is rounded as in libdwfl, so that
// addresses in the Dwfl are link-time addresses.
struct LoadedExtent {
  Address start = 0;
  Address end = 0;
  Address first = 0;
};

Result<LoadedExtent> loaded_extent(Elf* elf);

// Returns whether the debug file is about other code. Builds may be given one build ID, but a debug
// file keeps the places of the code that it is about.
bool has_other_code(Elf* program, Elf* debug);

}  // namespace labelscope::cli
