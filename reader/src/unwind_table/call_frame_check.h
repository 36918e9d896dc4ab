// This checks call frame information before libdw gets it.
//
// libdw interprets an entry's instructions to its end, and remembers a state at every
// DW_CFA_remember_state: an entry of some megabytes takes seconds of a held thread's time, and
// gigabytes. It follows references to entries wherever they lead, so that the bytes there decide
// where one ends. So entries are taken as long as they are small and refer to entries; libdw never
// gets what follows the first one that does not.
//
// Format: LSB 10.6.1 (.eh_frame), 10.6.2 (.eh_frame_hdr), DWARF 5 section 6.4.1 (.debug_frame).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope {

enum class CallFrameKind { kEhFrame, kDebugFrame };
// What .debug_frame has instead of the place of an entry's CIE in a CIE itself.
constexpr std::uint32_t kDebugFrameCie = 0xffffffff;

struct CallFrameEntries {
  std::vector<std::uint64_t> functions;  // offsets of their entries (FDEs), ascending
  std::uint64_t size = 0;                // size of all entries together
  // Without a search table libdw reads every entry before it knows that none is right, which takes
  // 4 us each.
  static constexpr std::size_t kMostWithoutTable = 1 << 20;
};

// Takes entries up to a terminator, the end, or the first bytes that are no entry: anything may
// follow a section, and only section headers would show where it ends. It takes at most `most`
// entries of functions.
CallFrameEntries take_call_frames(std::span<const std::byte> section, CallFrameKind kind,
                                  std::size_t most = SIZE_MAX);

// Returns whether .eh_frame_hdr has a table at all.
bool has_search_table(std::span<const std::byte> header);

// Checks that the table of .eh_frame_hdr, if it has one, leads to entries of functions only. The
// addresses are those of the two sections.
Status check_search_table(std::span<const std::byte> header, Address header_address,
                          const CallFrameEntries& entries, Address frames_address);

// Returns the offset of the entry that libdw finds by a table that was checked; nullopt if it finds
// none.
std::optional<std::uint64_t> find_in_search_table(std::span<const std::byte> header,
                                                  Address header_address, Address function,
                                                  Address frames_address);

// What is in a search table, and what replaces it there (nullopt for nothing), by offsets of
// entries.
using Replacements = std::map<std::uint64_t, std::optional<std::uint64_t>>;

// Replaces entries of a table that was checked.
void replace_in_search_table(std::span<std::byte> header, Address header_address,
                             const Replacements& replacements, Address frames_address);

}  // namespace labelscope
