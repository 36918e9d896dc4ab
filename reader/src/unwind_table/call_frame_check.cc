// This walks the entries once, by their lengths. A reference counts only if it leads to such an
// entry.
#include "unwind_table/call_frame_check.h"

#include <algorithm>
#include <cstring>

#include "base/malformed.h"
#include "base/value_at.h"

namespace labelscope {
namespace {

// A function with ten thousand calls has an entry of this size. At worst libdw needs 30 ms and 40
// MiB to interpret it.
constexpr std::uint64_t kMaxEntry = 128 << 10;

// These are the encodings of .eh_frame_hdr that every linker writes: DW_EH_PE_udata4, and
// DW_EH_PE_datarel | DW_EH_PE_sdata4; DW_EH_PE_omit if there is no table.
constexpr std::uint8_t kCountEncoding = 0x03;
constexpr std::uint8_t kTableEncoding = 0x3b;
constexpr std::uint8_t kOmitted = 0xff;

struct SearchHeader {
  std::uint8_t version;
  std::uint8_t pointer_encoding;
  std::uint8_t count_encoding;
  std::uint8_t table_encoding;
  std::int32_t to_frames;
  std::uint32_t count;
};

struct SearchEntry {
  std::int32_t function;
  std::int32_t entry;
};

bool holds(const std::vector<std::uint64_t>& sorted, std::uint64_t offset) {
  return std::binary_search(sorted.begin(), sorted.end(), offset);
}

std::size_t place_of_entry(std::uint32_t index) {
  return sizeof(SearchHeader) + index * sizeof(SearchEntry);
}

SearchEntry search_entry(std::span<const std::byte> header, std::uint32_t index) {
  return value_at<SearchEntry>(header, place_of_entry(index));
}

// Returns where in .eh_frame the entry of the function is.
std::uint64_t offset_of(const SearchEntry& entry, Address header_address, Address frames_address) {
  return header_address + static_cast<std::uint64_t>(std::int64_t{entry.entry}) - frames_address;
}

}  // namespace

CallFrameEntries take_call_frames(std::span<const std::byte> section, CallFrameKind kind,
                                  std::size_t most) {
  CallFrameEntries entries;
  std::vector<std::uint64_t> shared;  // entries to which several functions refer (CIEs)
  const bool eh = kind == CallFrameKind::kEhFrame;
  std::uint64_t& at = entries.size;
  while (entries.functions.size() < most && section.size() - at >= 2 * sizeof(std::uint32_t)) {
    const auto length = value_at<std::uint32_t>(section, at);
    const std::uint64_t body = at + sizeof length;
    // libdw accepts no entry of four bytes.
    if (length <= sizeof(std::uint32_t) || length > kMaxEntry || length > section.size() - body) {
      break;
    }
    const auto id = value_at<std::uint32_t>(section, body);
    if (id == (eh ? 0 : kDebugFrameCie)) {
      shared.push_back(at);
    } else if (const std::uint64_t common = eh ? body - id : id;  // that wraps leads to no entry
               (!shared.empty() && shared.back() == common) || holds(shared, common)) {
      entries.functions.push_back(at);
    } else {
      break;
    }
    at = body + length;
  }
  return entries;
}

bool has_search_table(std::span<const std::byte> header) {
  if (header.size() < offsetof(SearchHeader, count)) return false;
  const auto count = value_at<std::uint8_t>(header, offsetof(SearchHeader, count_encoding));
  const auto table = value_at<std::uint8_t>(header, offsetof(SearchHeader, table_encoding));
  // To libdw, an empty table is no table. A table with other encodings is refused later, and never
  // given to libdw.
  if (count == kCountEncoding && table == kTableEncoding && header.size() >= sizeof(SearchHeader)) {
    return value_at<SearchHeader>(header, 0).count != 0;
  }
  return count != kOmitted && table != kOmitted;
}

Status check_search_table(std::span<const std::byte> header, Address header_address,
                          const CallFrameEntries& entries, Address frames_address) {
  if (header.size() < offsetof(SearchHeader, count)) return malformed("its .eh_frame_hdr is cut");
  if (!has_search_table(header)) return {};
  const auto encodings = value_at<std::uint32_t>(header, 0);
  const auto count_encoding = static_cast<std::uint8_t>(encodings >> 16);
  const auto table_encoding = static_cast<std::uint8_t>(encodings >> 24);
  if (count_encoding != kCountEncoding || table_encoding != kTableEncoding ||
      header.size() < sizeof(SearchHeader)) {
    return Error{ErrorCode::kUnsupported, "its .eh_frame_hdr is encoded as no linker does it"};
  }
  const auto count = value_at<SearchHeader>(header, 0).count;
  if (count > (header.size() - sizeof(SearchHeader)) / sizeof(SearchEntry)) {
    return malformed("its .eh_frame_hdr is shorter than its table");
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!holds(entries.functions,
               offset_of(search_entry(header, i), header_address, frames_address))) {
      return malformed("its .eh_frame_hdr refers to what is no entry");
    }
  }
  return {};
}

std::optional<std::uint64_t> find_in_search_table(std::span<const std::byte> header,
                                                  Address header_address, Address function,
                                                  Address frames_address) {
  if (header.size() < sizeof(SearchHeader)) return std::nullopt;
  const auto start_of = [&](const SearchEntry& entry) {
    return header_address + static_cast<Address>(std::int64_t{entry.function});
  };
  const std::uint32_t count = value_at<SearchHeader>(header, 0).count;
  for (std::uint32_t low = 0, high = count; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    const SearchEntry entry = search_entry(header, middle);
    if (function < start_of(entry)) {
      high = middle;
      continue;
    }
    low = middle + 1;
    if (low < count && function >= start_of(search_entry(header, low))) continue;
    return offset_of(entry, header_address, frames_address);
  }
  return std::nullopt;
}

void replace_in_search_table(std::span<std::byte> header, Address header_address,
                             const Replacements& replacements, Address frames_address) {
  if (replacements.empty() || !has_search_table(header)) return;
  const auto count = value_at<SearchHeader>(header, 0).count;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    SearchEntry entry = search_entry(header, i);
    const auto found = replacements.find(offset_of(entry, header_address, frames_address));
    if (found != replacements.end()) {
      if (!found->second) continue;
      entry.entry = static_cast<std::int32_t>(frames_address + *found->second - header_address);
    }
    std::memcpy(header.data() + place_of_entry(kept++), &entry, sizeof entry);
  }
  std::memcpy(header.data() + offsetof(SearchHeader, count), &kept, sizeof kept);
}

}  // namespace labelscope
