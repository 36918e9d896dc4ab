// libdw finds the state at an address and lists the entries of a section, but it does not return
// which code an entry describes. That is decoded here: two numbers in an encoding which the entry's
// CIE names (LSB 10.5.1, 10.6.1).
#include "unwind_table/call_frames.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "unwind_table/call_frame_check.h"

namespace labelscope {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kFormat = 0x0f;  // format of an encoding; 0x70 is its origin
constexpr std::uint8_t kOrigin = 0x70;

template <class T>
std::optional<std::uint64_t> take(Bytes& bytes) {
  T value;
  if (bytes.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

std::optional<std::uint64_t> take_leb(Bytes& bytes, bool with_sign) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return std::nullopt;
    const std::uint8_t byte = bytes[0];
    bytes = bytes.subspan(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) {
      if (with_sign && (byte & 0x40) != 0 && shift < 57) value |= ~std::uint64_t{0} << (shift + 7);
      return value;
    }
  }
  return std::nullopt;
}

// A number without its origin.
std::optional<std::uint64_t> take_number(Bytes& bytes, std::uint8_t encoding) {
  switch (encoding & kFormat) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return take<std::uint64_t>(bytes);
    case DW_EH_PE_udata4:
      return take<std::uint32_t>(bytes);
    case DW_EH_PE_sdata4:
      return take<std::int32_t>(bytes);
    case DW_EH_PE_udata2:
      return take<std::uint16_t>(bytes);
    case DW_EH_PE_sdata2:
      return take<std::int16_t>(bytes);
    case DW_EH_PE_uleb128:
      return take_leb(bytes, false);
    case DW_EH_PE_sleb128:
      return take_leb(bytes, true);
    default:
      return std::nullopt;
  }
}

// Returns the encoding of the addresses in the FDEs of a CIE, or nullopt if it is not known.
std::optional<std::uint8_t> encoding_of(const Dwarf_CIE& cie) {
  const char* letters = cie.augmentation;
  if (*letters != 'z') return *letters == '\0' ? std::optional(std::uint8_t{0}) : std::nullopt;
  Bytes data(cie.augmentation_data, cie.augmentation_data_size);
  while (*++letters != '\0') {
    if (*letters == 'S' || *letters == 'B' || *letters == 'G') continue;  // these have no data
    const auto encoding = take<std::uint8_t>(data);
    if (!encoding) return std::nullopt;
    if (*letters == 'R') return static_cast<std::uint8_t>(*encoding);
    if (*letters == 'P' && !take_number(data, static_cast<std::uint8_t>(*encoding))) {
      return std::nullopt;
    }
    if (*letters != 'P' && *letters != 'L') return std::nullopt;
  }
  return std::uint8_t{0};
}

bool is_before(const DescribedFunction& left, const DescribedFunction& right) {
  return left.start != right.start ? left.start < right.start : left.end < right.end;
}

std::string libdw_error() {
  const char* message = dwarf_errmsg(-1);
  return message == nullptr ? "no reason" : message;
}

}  // namespace

void CallFrames::FrameFreer::operator()(Dwarf_Frame* frame) const { std::free(frame); }

Result<CallFrames> CallFrames::open(std::shared_ptr<CallFrameImage> image) {
  CallFrames frames;
  frames.image_ = std::move(image);
  const std::span<std::byte> bytes = frames.image_->bytes();
  elf_version(EV_CURRENT);
  frames.elf_.reset(elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()));
  const auto refused = [] {
    return Error{ErrorCode::kMalformed,
                 "libdw does not take its call frame information: " + libdw_error()};
  };
  if (frames.elf_ == nullptr) return refused();
  auto section = frames.find_section();
  if (!section) return std::move(section).error();
  frames.has_search_table_ = !section->header.empty();
  frames.section_ = *section;
  frames.list_functions(*section);  // this changes the search table, which libdw reads once
  frames.cfi_.reset(dwarf_getcfi_elf(frames.elf_.get()));
  if (frames.cfi_ == nullptr) return refused();
  return frames;
}

// In the image, .eh_frame_hdr or a section header leads to .eh_frame (call_frame_image.h).
Result<CallFrames::Section> CallFrames::find_section() const {
  std::size_t segments = 0;
  static_cast<void>(elf_getphdrnum(elf_.get(), &segments));
  const std::span<std::byte> bytes = image_->bytes();
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr ||
        segment.p_type != PT_GNU_EH_FRAME) {
      continue;
    }
    // The header has version and encodings, then the way to .eh_frame in four bytes, the only
    // encoding that an image has.
    constexpr std::uint64_t kWayAt = 4;
    std::int32_t way = 0;
    if (segment.p_offset > bytes.size() || bytes.size() - segment.p_offset < kWayAt + sizeof way) {
      break;
    }
    std::memcpy(&way, bytes.data() + segment.p_offset + kWayAt, sizeof way);
    Section section;
    section.offset = segment.p_offset + kWayAt + static_cast<std::uint64_t>(std::int64_t{way});
    section.address = segment.p_vaddr + kWayAt + static_cast<std::uint64_t>(std::int64_t{way});
    if (section.offset > bytes.size()) break;
    section.size = bytes.size() - section.offset;
    section.header =
        bytes.subspan(segment.p_offset,
                      std::min<std::uint64_t>(segment.p_filesz, bytes.size() - segment.p_offset));
    section.header_address = segment.p_vaddr;
    return section;
  }
  Elf_Scn* each = nullptr;
  std::size_t names = 0;
  static_cast<void>(elf_getshdrstrndx(elf_.get(), &names));
  while ((each = elf_nextscn(elf_.get(), each)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(each, &header) == nullptr) continue;
    const char* name = elf_strptr(elf_.get(), names, header.sh_name);
    if (name == nullptr || std::strcmp(name, ".eh_frame") != 0 || header.sh_offset > bytes.size() ||
        header.sh_size > bytes.size() - header.sh_offset) {
      continue;
    }
    return Section{header.sh_offset, header.sh_size, header.sh_addr, {}, 0};
  }
  return Error{ErrorCode::kNotFound, "it has no .eh_frame"};
}

std::optional<std::uint32_t> CallFrames::add_common(const Dwarf_CIE& entry, std::uint64_t at) {
  const auto encoding = encoding_of(entry);
  if (!encoding) return std::nullopt;
  common_.push_back({{entry.code_alignment_factor, entry.data_alignment_factor},
                     entry.augmentation[0] == 'z',
                     *encoding,
                     at});
  return static_cast<std::uint32_t>(common_.size() - 1);
}

std::optional<DescribedFunction> CallFrames::function_of(const Dwarf_FDE& entry,
                                                         std::uint32_t number,
                                                         std::uint64_t field) const {
  Bytes fields(entry.start, static_cast<std::size_t>(entry.end - entry.start));
  const std::uint8_t encoding = common_[number].encoding;
  auto start = take_number(fields, encoding);
  const auto size = take_number(fields, encoding & kFormat);
  const std::uint8_t origin = encoding & kOrigin;
  if (!start || !size || (origin != DW_EH_PE_absptr && origin != DW_EH_PE_pcrel)) {
    return std::nullopt;
  }
  if (origin == DW_EH_PE_pcrel) *start += field;
  if (*start + *size < *start) return std::nullopt;
  return DescribedFunction{*start, *start + *size, 0, number};
}

// An empty function describes nothing: it is only __builtin_unreachable(). It starts where the next
// one does. lld keeps only the first of two with one start in its search table, which may be the
// empty one.
void CallFrames::replace_empty(const Section& section,
                               std::span<const DescribedFunction> empty) const {
  Replacements replacements;
  for (const DescribedFunction& function : empty) {
    const auto same = std::lower_bound(functions_.begin(), functions_.end(), function, is_before);
    const bool found = same != functions_.end() && same->start == function.start;
    replacements[function.entry] = found ? std::optional<std::uint64_t>(same->entry) : std::nullopt;
  }
  replace_in_search_table(section.header, section.header_address, replacements, section.address);
}

void CallFrames::list_functions(const Section& section) {
  const std::span<std::byte> bytes = image_->bytes();
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data()) + section.offset;
  const auto* ident = reinterpret_cast<const unsigned char*>(bytes.data());
  Elf_Data data{};
  // NOLINT: this is libelf's type; it does not write
  data.d_buf = const_cast<std::uint8_t*>(begin);
  data.d_size = section.size;
  data.d_type = ELF_T_BYTE;
  data.d_version = EV_CURRENT;
  // The common entry that functions refer to is nearly always the last one.
  std::unordered_map<Dwarf_Off, std::optional<std::uint32_t>> numbers;
  auto last = numbers.end();
  std::vector<DescribedFunction> empty;
  Dwarf_Off next = 0;
  for (Dwarf_Off at = 0; at < section.size; at = next) {
    Dwarf_CFI_Entry entry;
    const int result = dwarf_next_cfi(ident, &data, true, at, &next, &entry);
    if (result > 0 || next <= at) break;
    if (result < 0) {
      ++damaged_;
      continue;
    }
    if (dwarf_cfi_cie_p(&entry)) {
      numbers[at] = add_common(entry.cie, at);
      last = numbers.end();
      continue;
    }
    if (last == numbers.end() || last->first != entry.fde.CIE_pointer) {
      last = numbers.find(entry.fde.CIE_pointer);
    }
    std::optional<DescribedFunction> function;
    if (last != numbers.end() && last->second) {
      const auto distance = static_cast<std::uint64_t>(entry.fde.start - begin);
      function = function_of(entry.fde, *last->second, section.address + distance);
    }
    if (!function) {
      ++damaged_;
      continue;
    }
    function->entry = static_cast<std::uint32_t>(at);  // an image has 256 MiB
    (function->start == function->end ? empty : functions_).push_back(*function);
  }
  std::sort(functions_.begin(), functions_.end(), is_before);
  replace_empty(section, empty);
}

// Searches as libdw does: entries of the table may be of other functions, or in disorder.
bool CallFrames::search_table_leads_to(const DescribedFunction& function) const {
  if (!has_search_table(section_.header)) return true;
  const std::optional<std::uint64_t> found = find_in_search_table(
      section_.header, section_.header_address, function.start, section_.address);
  return found && *found == function.entry;
}

std::optional<std::span<const std::byte>> CallFrames::instructions(
    const DescribedFunction& function) const {
  if (!search_table_leads_to(function)) return std::nullopt;
  const std::span<const std::byte> image = std::as_bytes(image_->bytes());
  const std::span<const std::byte> section = image.subspan(section_.offset, section_.size);
  std::uint32_t head[2];  // the length of what follows it, and the way to the common entry
  if (section.size() < sizeof head || function.entry > section.size() - sizeof head) {
    return std::nullopt;
  }
  std::memcpy(head, section.data() + function.entry, sizeof head);
  const std::size_t left = section.size() - function.entry - sizeof head[0];
  if (head[0] < sizeof head[1] || head[0] > left) return std::nullopt;
  const Common& common = common_[function.common];
  const std::span<const std::byte> entry =
      section.subspan(function.entry + sizeof head, head[0] - sizeof head[1]);
  Bytes bytes(reinterpret_cast<const std::uint8_t*>(entry.data()), entry.size());
  if (!take_number(bytes, common.encoding) || !take_number(bytes, common.encoding & kFormat)) {
    return std::nullopt;
  }
  if (common.augmented) {
    const auto size = take_leb(bytes, false);
    if (!size || *size > bytes.size()) return std::nullopt;
    bytes = bytes.subspan(static_cast<std::size_t>(*size));
  }
  return std::as_bytes(bytes);
}

CallFrames::Frame CallFrames::at(std::uint64_t address) const {
  Dwarf_Frame* frame = nullptr;
  if (dwarf_cfi_addrframe(cfi_.get(), address, &frame) != 0) return nullptr;
  return Frame(frame);
}

// Without a search table libdw would begin to look for each entry at the start again.
void CallFrames::forget() {
  if (!has_search_table_) return;
  auto* fresh = dwarf_getcfi_elf(elf_.get());
  if (fresh != nullptr) cfi_.reset(fresh);
}

}  // namespace labelscope
