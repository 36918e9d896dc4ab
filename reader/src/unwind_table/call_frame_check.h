// Call frame information, checked before libdw is given it.
//
// libdw interprets an entry's instructions to its end, and remembers a state at every
// DW_CFA_remember_state: an entry of some megabytes takes seconds of a held thread's time, and
// gigabytes. It follows references to entries wherever they lead, so that the end of one is
// whatever the bytes there say. So entries are taken as long as they are small and refer to
// entries; what follows the first one that does not, libdw never sees.
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

struct CallFrameEntries {
  std::vector<std::uint64_t> functions;  // offsets of their entries (FDEs), ascending
  std::uint64_t size = 0;                // of all entries together
  // Without a search table libdw reads every entry before it knows that none is right: 4 us each.
  static constexpr std::size_t kMostWithoutTable = 1 << 20;
};

// Entries up to a terminator, the end, or the first one that is none: a section may be followed by
// anything, and nothing but section headers would say where it ends. Or the first `most` of
// functions.
CallFrameEntries take_call_frames(std::span<const std::byte> section, CallFrameKind kind,
                                  std::size_t most = SIZE_MAX);

// Whether .eh_frame_hdr has a table at all.
bool has_search_table(std::span<const std::byte> header);

// .eh_frame_hdr: that its table, if it has one, leads to entries of functions only. Addresses are
// those of the two sections.
Status check_search_table(std::span<const std::byte> header, Address header_address,
                          const CallFrameEntries& entries, Address frames_address);

// By offsets of entries: what stands in a search table, and what is to stand there in its place
// (nullopt: nothing).
using Replacements = std::map<std::uint64_t, std::optional<std::uint64_t>>;

// Of a table that was checked.
void replace_in_search_table(std::span<std::byte> header, Address header_address,
                             const Replacements& replacements, Address frames_address);

}  // namespace labelscope
