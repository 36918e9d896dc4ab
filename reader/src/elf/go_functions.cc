// The whole table is read once, because functions, names and depths lie far apart in it. Every
// offset is checked when it is used: a damaged entry costs one function.
#include "elf/go_functions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

namespace labelscope {
namespace {

// kubernetes' largest program has 30 MiB.
constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20;
// Names that are shown are cut to this length, as those of symbol tables.
constexpr std::size_t kMaxGoName = 65536;
// No frame is so large: Go's linker refuses such frames.
constexpr std::int32_t kMostDepth = 1 << 30;
// A function changes its depth a few times. A table of a hostile file may be of any length, and
// shared by all functions; depths behind so many changes are not used.
constexpr std::size_t kMostDepths = 1 << 12;

constexpr std::uint32_t kGo1_2 = 0xfffffffb;
constexpr std::uint32_t kGo1_16 = 0xfffffffa;
constexpr std::uint32_t kGo1_18 = 0xfffffff0;
constexpr std::uint32_t kGo1_20 = 0xfffffff1;

struct Header {
  std::uint32_t magic;
  std::uint16_t zero;
  std::uint8_t quantum;
  std::uint8_t pointer_size;
  std::uint64_t functions;
  std::uint64_t files;
  std::uint64_t text;
  std::uint64_t names_at;
  std::uint64_t units_at;
  std::uint64_t files_at;
  std::uint64_t pc_tables_at;
  std::uint64_t functions_at;
};

// An entry in the list of functions.
struct Entry {
  std::uint32_t start;  // relative to the first code
  std::uint32_t details;
};

// These are offsets in the description of a function, to which its entry leads.
constexpr std::uint64_t kNameAt = 4;
constexpr std::uint64_t kDepthsAt = 16;
constexpr std::size_t kFlagsAt1_18 = 37;
// behind one more word, the line where the function starts
constexpr std::size_t kFlagsAt1_20 = 41;

bool is_header(const Header& header) {
  return header.zero == 0 && (header.quantum == 1 || header.quantum == 4) &&
         header.pointer_size == 8 &&
         (header.magic == kGo1_2 || header.magic == kGo1_16 || header.magic == kGo1_18 ||
          header.magic == kGo1_20);
}

// The parts of a table follow each other in this order.
bool is_plausible(const Header& header) {
  return is_header(header) && header.functions != 0 && header.names_at >= sizeof header &&
         header.pc_tables_at > header.names_at && header.functions_at > header.pc_tables_at;
}

using FoundPlace = Result<std::optional<std::uint64_t>>;

// Returns whether what is searched for begins here.
using Matches = std::function<bool(std::uint64_t address, const std::byte* bytes)>;

// Searches segments without code for the first place with this alignment where `size` bytes match.
// Segments of a hostile file may lie over each other: what is searched is bounded for all of them
// together.
FoundPlace search_data(const ElfImage& file, std::uint64_t alignment, std::size_t size,
                       const Matches& matches, const std::function<bool()>& is_late) {
  std::vector<std::byte> piece(std::size_t{1} << 20);
  // Pieces overlap, so that what lies in two of them is found.
  const std::uint64_t step = piece.size() - (size + alignment - 1) / alignment * alignment;
  std::uint64_t left = 4 * kMostBytes;
  for (const LoadSegment& segment : file.load_segments()) {
    if (segment.executable) continue;
    const std::uint64_t searched = std::min(segment.file_size, left);
    left -= searched;
    std::uint64_t at = (0 - segment.vaddr) % alignment;
    for (; at + size <= searched; at += step) {
      if (is_late && is_late()) {
        return Error{ErrorCode::kLimit, "searching its table of Go functions takes too long"};
      }
      const std::span part(piece.data(), std::min<std::uint64_t>(piece.size(), searched - at));
      if (!file.read(segment.vaddr + at, part)) break;
      for (std::size_t i = 0; i + size <= part.size(); i += alignment) {
        if (matches(segment.vaddr + at + i, part.data() + i)) {
          return std::optional(segment.vaddr + at + i);
        }
      }
    }
  }
  return std::optional<std::uint64_t>();
}

// The header is known by its first bytes. It is aligned to 16 bytes, and to a cache line before Go
// 1.26.
FoundPlace search_header(const ElfImage& file, const std::function<bool()>& is_late) {
  const auto matches = [](std::uint64_t, const std::byte* bytes) {
    Header header;
    std::memcpy(&header, bytes, sizeof header);
    return is_plausible(header);
  };
  return search_data(file, 16, sizeof(Header), matches, is_late);
}

FoundPlace find_table(const ElfImage& file, const std::function<bool()>& is_late) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    if (auto address = file.section_address(name)) return address;
  }
  // GNU ld makes the table a part of .data.rel.ro, and there may be no section headers.
  const bool is_go = file.section_address(".go.buildinfo").has_value() || file.has_note("Go");
  return is_go ? search_header(file, is_late) : FoundPlace(std::optional<std::uint64_t>());
}

// From Go 1.26 on the table does not say where the text starts. The runtime has that in its
// description of the module: `text` of moduledata (runtime/symtab.go), whose first word leads to
// the table. Behind that word are six slices of three words, and three words.
constexpr std::uint64_t kTextInModule = (1 + 6 * 3 + 3) * sizeof(std::uint64_t);

// Returns 0 if no module with this table is described there.
std::uint64_t text_of_module_at(const ElfImage& file, std::uint64_t module, std::uint64_t table) {
  const auto its_table = file.pointer_at(module);
  const auto text = file.pointer_at(module + kTextInModule);
  if (!its_table || *its_table != table || !text) return 0;
  const auto is_code = [&](const LoadSegment& segment) {
    return segment.executable && *text - segment.vaddr < segment.file_size;
  };
  return std::ranges::any_of(file.load_segments(), is_code) ? *text : 0;
}

// Returns 0 if it is not known. Without section headers the description is searched for by its
// first word.
Result<std::uint64_t> text_of_module(const ElfImage& file, std::uint64_t table,
                                     const std::function<bool()>& is_late) {
  if (const auto module = file.section_address(".go.module")) {
    return text_of_module_at(file, *module, table);
  }
  const auto matches = [&](std::uint64_t address, const std::byte* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word == table && text_of_module_at(file, address, table) != 0;
  };
  const FoundPlace module = search_data(file, sizeof table, sizeof table, matches, is_late);
  if (!module) return module.error();
  return *module ? text_of_module_at(file, **module, table) : std::uint64_t{0};
}

// Takes an unsigned number of at most 32 bits, in groups of seven bits.
std::optional<std::uint32_t> take_number(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes[0]);
    bytes = bytes.subspan(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return static_cast<std::uint32_t>(value);
  }
  return std::nullopt;
}

Error malformed_go(const char* what) {
  return {ErrorCode::kMalformed, std::string("its table of Go functions ") + what};
}

}  // namespace

Result<GoFunctions> GoFunctions::read(const ElfImage& file, const std::function<bool()>& is_late) {
  const auto address = find_table(file, is_late);
  if (!address) return address.error();
  if (!*address) return Error{ErrorCode::kNotFound, "it has no table of Go functions"};
  GoFunctions functions;
  if (Status status = functions.parse(file, **address, is_late); !status)
    return std::move(status).error();
  return functions;
}

Status GoFunctions::parse(const ElfImage& file, std::uint64_t address,
                          const std::function<bool()>& is_late) {
  Header header;
  Status status = file.read(address, std::as_writable_bytes(std::span(&header, 1)));
  if (!status) return status;
  if (!is_header(header)) return malformed_go("does not begin like one");
  if (header.magic == kGo1_2 || header.magic == kGo1_16) {
    return Error{ErrorCode::kUnsupported, "its table of Go functions is older than Go 1.18"};
  }
  for (const LoadSegment& segment : file.load_segments()) {
    if (address - segment.vaddr >= segment.file_size) continue;
    const std::uint64_t size = segment.file_size - (address - segment.vaddr);
    table_.resize(std::min(size, kMostBytes));
    break;
  }
  status = file.read(address, table_);
  if (!status) return status;

  names_ = header.names_at;
  pc_tables_ = header.pc_tables_at;
  functions_ = header.functions_at;
  quantum_ = header.quantum;
  flags_ = header.magic == kGo1_18 ? kFlagsAt1_18 : kFlagsAt1_20;
  const std::uint64_t size = table_.size();
  if (names_ >= size || pc_tables_ >= size || functions_ >= size) {
    return malformed_go("has parts outside of it");
  }
  // One more start follows the last function, and is its end.
  if (header.functions == 0 || header.functions >= (size - functions_) / sizeof(Entry)) {
    return malformed_go("has an impossible number of functions");
  }
  count_ = static_cast<std::size_t>(header.functions);
  const auto text = file.pointer_at(address + offsetof(Header, text));
  text_ = text ? *text : 0;
  if (text_ == 0) {
    const auto found = text_of_module(file, address, is_late);
    if (!found) return found.error();
    text_ = *found;
  }
  if (text_ == 0) {
    return Error{ErrorCode::kUnsupported, "its table of Go functions does not say where they are"};
  }
  start_ = start_of(0);
  end_ = start_of(count_);
  if (start_ < text_ || end_ <= start_) return malformed_go("has its functions in no order");
  // What lies behind the table in its segment is of no use.
  std::uint64_t used = functions_ + (count_ + 1) * sizeof(Entry);
  for (std::size_t i = 0; i < count_; ++i) {
    const auto details = word(functions_ + i * sizeof(Entry) + offsetof(Entry, details));
    used = std::max(used, functions_ + details.value_or(0) + kFlagsAt1_20 + 1);
  }
  if (used < size) {
    table_.resize(used);
    table_.shrink_to_fit();
  }
  return {};
}

std::optional<std::uint32_t> GoFunctions::word(std::uint64_t offset) const {
  std::uint32_t value = 0;
  if (offset > table_.size() || table_.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, table_.data() + offset, sizeof value);
  return value;
}

std::uint64_t GoFunctions::start_of(std::size_t index) const {
  return text_ + word(functions_ + index * sizeof(Entry)).value_or(0);
}

std::string_view GoFunctions::text(std::uint64_t offset) const {
  if (offset >= table_.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(table_.data()) + offset;
  const std::size_t room = std::min<std::size_t>(table_.size() - offset, kMaxGoName);
  return {begin, strnlen(begin, room)};
}

std::optional<GoFunction> GoFunctions::at(std::size_t index) const {
  enum : std::uint8_t { kTopFrame = 1, kStackWrite = 2, kAssembly = 4 };
  if (index >= count_) return std::nullopt;
  GoFunction function;
  function.start = start_of(index);
  function.end = start_of(index + 1);
  if (function.start < start_ || function.end <= function.start || function.end > end_) {
    return std::nullopt;
  }
  const auto details =
      functions_ + *word(functions_ + index * sizeof(Entry) + offsetof(Entry, details));
  const auto name = word(details + kNameAt);
  const auto depths = word(details + kDepthsAt);
  // The flags are one byte, at the end of all that is read: so if that byte is in the table,
  // everything is.
  if (!name || !depths || details + flags_ >= table_.size()) return std::nullopt;
  const auto flags = static_cast<std::uint8_t>(table_[details + flags_]);
  function.name = text(names_ + *name);
  function.depths = *depths;
  function.is_first = (flags & kTopFrame) != 0;
  function.sets_stack = (flags & kStackWrite) != 0;
  function.is_handwritten = (flags & kAssembly) != 0;
  return function;
}

std::optional<GoFunction> GoFunctions::find(std::uint64_t address) const {
  if (address < start_ || address >= end_) return std::nullopt;
  // If the starts do not ascend, the search ends at some other function, which does not cover the
  // address.
  std::size_t low = 0;
  std::size_t high = count_;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (start_of(middle) <= address ? low : high) = middle;
  }
  const auto function = at(low);
  if (!function || address < function->start || address >= function->end) return std::nullopt;
  return function;
}

std::vector<GoDepth> GoFunctions::depths_of(const GoFunction& function) const {
  std::vector<GoDepth> depths;
  // No table begins at the very first byte, so 0 means that there is none.
  const std::uint64_t offset = pc_tables_ + function.depths;
  if (function.depths == 0 || offset >= table_.size()) return depths;
  std::span<const std::byte> bytes = std::span(table_).subspan(offset);
  std::int64_t depth = -1;
  for (std::uint64_t at = function.start; at < function.end && depths.size() < kMostDepths;) {
    const auto change = take_number(bytes);
    if (!change || (*change == 0 && !depths.empty())) break;
    depth += static_cast<std::int32_t>(*change >> 1) ^ -static_cast<std::int32_t>(*change & 1);
    const auto length = take_number(bytes);
    if (!length || *length == 0 || depth < 0 || depth > kMostDepth) break;
    const std::uint64_t end = at + *length * quantum_;
    if (end > function.end) break;
    depths.push_back({at, end, static_cast<std::int32_t>(depth)});
    at = end;
  }
  return depths;
}

}  // namespace labelscope
