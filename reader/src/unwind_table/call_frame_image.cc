// CallFrameImage copies program headers and call frame information, and nothing else.
//
//   original                                       copy
//   ELF header                                     ELF header (same type and machine, own offsets)
//   program headers                                program headers (same addresses)
//   .eh_frame_hdr .eh_frame                        these bytes
//   .debug_frame, or .eh_frame without a header    these bytes, unpacked, under a section header
//
// .eh_frame_hdr refers to .eh_frame by their distance, so both are moved as one piece, which ends
// with the last entry that libdw may get (call_frame_check.h).
#include "unwind_table/call_frame_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/malformed.h"
#include "elf/hostile_sections.h"
#include "elf/loaded_file.h"
#include "unwind_table/call_frame_check.h"
#include "unwind_table/frame_instructions.h"

namespace labelscope {
namespace {

// The kernel takes no more than 64 KiB of program headers.
constexpr std::size_t kMaxProgramHeaders = 65536 / sizeof(Elf64_Phdr);
// The largest browsers have 30 MiB.
constexpr std::uint64_t kMaxFrameBytes = 256ULL << 20;
constexpr std::uint64_t kMaxNameBytes = 1ULL << 20;

// This is DW_EH_PE_pcrel | DW_EH_PE_sdata4, the encoding in which every linker writes the way from
// .eh_frame_hdr to .eh_frame (LSB 10.6.2).
constexpr std::uint8_t kRelativeInFourBytes = 0x1b;

constexpr std::size_t kTerminator = 4;

struct HeaderStart {
  std::uint8_t version;
  std::uint8_t pointer_encoding;
  std::uint8_t count_encoding;
  std::uint8_t table_encoding;
  std::int32_t to_frames;  // relative to this field
};

constexpr std::string_view kSectionNames{"\0.eh_frame\0.debug_frame\0.shstrtab\0", 34};
constexpr std::uint32_t kNameOfFrames = 1;
constexpr std::uint32_t kNameOfDebugFrames = 11;
constexpr std::uint32_t kNameOfNames = 24;

}  // namespace

class CallFrameCopy {
 public:
  explicit CallFrameCopy(UniqueFd file) { file_.fd = std::move(file); }

  Result<std::shared_ptr<CallFrameImage>> make();

 private:
  template <class T>
  Status read_value(std::uint64_t offset, T& value) {
    return file_.read_offset(offset, std::as_writable_bytes(std::span(&value, 1)));
  }
  Status read_headers();
  Status add_eh_frame();
  Status add_sections();
  Status add_section(const Elf64_Shdr& section, std::uint32_t name);
  Status unpack(std::size_t at);
  void end_entries(std::size_t at);
  void limit(std::size_t at, const CallFrameEntries& entries, CallFrameKind kind);
  Result<std::size_t> append(std::uint64_t offset, std::uint64_t size);
  void append_section_table();
  void store_headers();

  LoadedFile file_;
  std::shared_ptr<CallFrameImage> image_ = std::make_shared<CallFrameImage>();
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;  // those of the copy
  bool found_ = false;
  bool eh_frame_found_ = false;
};

Result<std::shared_ptr<CallFrameImage>> CallFrameCopy::make() {
  if (Status status = read_headers(); !status) return std::move(status).error();
  const std::size_t headers = sizeof(Elf64_Ehdr) + segments_.size() * sizeof(Elf64_Phdr);
  image_->bytes_.resize(headers);
  if (Status status = add_eh_frame(); !status) return std::move(status).error();
  // If section headers are damaged, what the program headers led to is still used.
  Status sections = add_sections();
  if (!found_ && !sections) return std::move(sections).error();
  if (!found_) return Error{ErrorCode::kNotFound, "it has no call frame information"};
  append_section_table();
  store_headers();
  image_->bytes_.shrink_to_fit();
  return std::move(image_);
}

Status CallFrameCopy::read_headers() {
  if (Status status = read_value(0, header_); !status) return status;
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return malformed("not an ELF file");
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
      (header_.e_machine != EM_X86_64 && header_.e_machine != EM_AARCH64) ||
      (header_.e_type != ET_EXEC && header_.e_type != ET_DYN)) {
    return Error{ErrorCode::kUnsupported, "not a 64-bit x86-64 or aarch64 program or library"};
  }
  image_->machine_ = header_.e_machine == EM_X86_64 ? Machine::kX86_64 : Machine::kAarch64;
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
      header_.e_phnum > kMaxProgramHeaders) {
    return malformed("its program headers have an impossible size");
  }
  segments_.resize(header_.e_phnum);
  if (Status status =
          file_.read_offset(header_.e_phoff, std::as_writable_bytes(std::span(segments_)));
      !status) {
    return status;
  }
  auto first = std::find_if(segments_.begin(), segments_.end(),
                            [](const Elf64_Phdr& segment) { return segment.p_type == PT_LOAD; });
  if (first == segments_.end()) return malformed("it loads nothing");
  return {};
}

Status CallFrameCopy::add_eh_frame() {
  Elf64_Phdr* wanted = nullptr;
  for (Elf64_Phdr& segment : segments_) {
    // It may be empty: the linker script of the vDSO (aarch64, before 5.15) has this segment, but
    // no section.
    if (segment.p_type != PT_GNU_EH_FRAME || segment.p_filesz == 0) continue;
    if (wanted == nullptr) wanted = &segment;
  }
  if (wanted == nullptr) return {};
  auto holder = std::find_if(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && wanted->p_vaddr >= segment.p_vaddr &&
           wanted->p_vaddr - segment.p_vaddr < segment.p_filesz;
  });
  if (holder == segments_.end()) return malformed("its .eh_frame_hdr is in no segment");

  HeaderStart start{};
  if (Status status = read_value(wanted->p_offset, start); !status) return status;
  if (start.pointer_encoding != kRelativeInFourBytes) {
    return Error{ErrorCode::kUnsupported, "its .eh_frame_hdr is encoded as no linker does it"};
  }
  // Both numbers count from the start of the segment.
  const std::uint64_t header = wanted->p_vaddr - holder->p_vaddr;
  const std::uint64_t frames = header + offsetof(HeaderStart, to_frames) +
                               static_cast<std::uint64_t>(std::int64_t{start.to_frames});
  // Here .eh_frame is in a segment of its own, which can be written. Then section headers lead to
  // it.
  if (frames >= holder->p_filesz) return {};
  if (wanted->p_filesz > holder->p_filesz - header) return malformed("its .eh_frame_hdr is cut");
  const std::uint64_t from = std::min(header, frames);
  auto at = append(holder->p_offset + from, holder->p_filesz - from);
  if (!at) return std::move(at).error();
  const std::size_t header_at = *at + (header - from);
  const std::size_t frames_at = *at + (frames - from);
  const std::span<const std::byte> bytes(image_->bytes_);
  const bool has_table = has_search_table(bytes.subspan(header_at, wanted->p_filesz));
  const CallFrameEntries entries =
      take_call_frames(bytes.subspan(frames_at), CallFrameKind::kEhFrame,
                       has_table ? SIZE_MAX : CallFrameEntries::kMostWithoutTable);
  Status status = check_search_table(bytes.subspan(header_at, wanted->p_filesz), wanted->p_vaddr,
                                     entries, holder->p_vaddr + frames);
  const std::size_t end = frames_at + entries.size;
  // Without a table libdw reads on to an end, which must be there.
  if (status && !has_table && frames_at < header_at && header_at - end < kTerminator) {
    status = malformed("its .eh_frame has no end");
  }
  if (!status || entries.functions.empty()) {
    image_->bytes_.resize(*at);
    return status;
  }
  limit(frames_at, entries, CallFrameKind::kEhFrame);
  image_->bytes_.resize(std::max(end, header_at + wanted->p_filesz));
  if (!has_table) image_->entries_without_table_ += entries.functions.size();
  // With a table, libdw reads nothing else, so .eh_frame needs an end only if it comes behind the
  // header.
  if (frames_at > header_at || !has_table) end_entries(end);
  wanted->p_offset = header_at;
  found_ = eh_frame_found_ = true;
  return {};
}

void CallFrameCopy::limit(std::size_t at, const CallFrameEntries& entries, CallFrameKind kind) {
  limit_instructions(std::span(image_->bytes_).subspan(at, entries.size), kind, image_->machine_);
}

// Ends .eh_frame by a length of 0. For libdw it would otherwise go up to the end of the file.
void CallFrameCopy::end_entries(std::size_t at) {
  std::vector<std::byte>& bytes = image_->bytes_;
  if (bytes.size() < at + kTerminator) bytes.resize(at + kTerminator);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kTerminator, std::byte{0});
}

Status CallFrameCopy::add_sections() {
  if (header_.e_shoff == 0 || header_.e_shnum == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum) {
    return malformed("its section headers have an impossible size");
  }
  std::vector<Elf64_Shdr> all(header_.e_shnum);
  if (Status status = file_.read_offset(header_.e_shoff, std::as_writable_bytes(std::span(all)));
      !status) {
    return status;
  }
  const Elf64_Shdr& names = all[header_.e_shstrndx];
  if (names.sh_type != SHT_STRTAB || names.sh_size > kMaxNameBytes) {
    return malformed("its section names have an impossible size");
  }
  std::string text(names.sh_size, '\0');
  if (Status status = file_.read_offset(names.sh_offset, std::as_writable_bytes(std::span(text)));
      !status) {
    return status;
  }
  for (const Elf64_Shdr& section : all) {
    if (section.sh_name >= text.size() || section.sh_type == SHT_NOBITS) continue;
    const std::string_view name(text.c_str() + section.sh_name);
    // .eh_frame_hdr leads to .eh_frame faster than a section header does.
    const bool frames = name == ".eh_frame" && !found_;
    const bool debug_frames = name == ".debug_frame";
    if (!frames && !debug_frames) continue;
    if (Status status = add_section(section, frames ? kNameOfFrames : kNameOfDebugFrames);
        !status) {
      return status;
    }
  }
  return {};
}

Status CallFrameCopy::add_section(const Elf64_Shdr& section, std::uint32_t name) {
  if (section.sh_size == 0) return {};
  auto at = append(section.sh_offset, section.sh_size);
  if (!at) return std::move(at).error();
  if ((section.sh_flags & SHF_COMPRESSED) != 0 && !unpack(*at)) return {};
  const CallFrameKind kind =
      name == kNameOfFrames ? CallFrameKind::kEhFrame : CallFrameKind::kDebugFrame;
  const CallFrameEntries entries =
      take_call_frames(std::span<const std::byte>(image_->bytes_).subspan(*at), kind,
                       CallFrameEntries::kMostWithoutTable - image_->entries_without_table_);
  if (entries.functions.empty()) return {};
  limit(*at, entries, kind);
  image_->entries_without_table_ += entries.functions.size();
  Elf64_Shdr copy = section;
  copy.sh_flags &= ~std::uint64_t{SHF_COMPRESSED};
  copy.sh_size = entries.size;
  copy.sh_name = name;
  copy.sh_offset = *at;
  copy.sh_link = 0;
  copy.sh_info = 0;
  sections_.push_back(copy);
  found_ = true;
  return {};
}

// Replaces what is from `at` on in the copy by the unpacked bytes. Go's linker compresses by
// default.
Status CallFrameCopy::unpack(std::size_t at) {
  std::vector<std::byte>& bytes = image_->bytes_;
  auto unpacked = unpack_section(std::span<const std::byte>(bytes).subspan(at),
                                 kMaxFrameBytes - std::min<std::uint64_t>(at, kMaxFrameBytes));
  bytes.resize(at);
  if (!unpacked) return std::move(unpacked).error();
  bytes.insert(bytes.end(), unpacked->begin(), unpacked->end());
  return {};
}

// Returns where in the copy the bytes are.
Result<std::size_t> CallFrameCopy::append(std::uint64_t offset, std::uint64_t size) {
  if (size > kMaxFrameBytes - std::min<std::uint64_t>(image_->bytes_.size(), kMaxFrameBytes)) {
    return Error{ErrorCode::kLimit, "its call frame information is larger than 256 MiB"};
  }
  const std::size_t at = (image_->bytes_.size() + 15) & ~std::size_t{15};
  // This reads in pieces: the file may be shorter than its headers claim, and then nothing more is
  // allocated.
  constexpr std::uint64_t kPiece = 1ULL << 20;
  image_->bytes_.resize(at);
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min(kPiece, size - done);
    image_->bytes_.resize(at + done + piece);
    Status status =
        file_.read_offset(offset + done, std::span(image_->bytes_).subspan(at + done, piece));
    if (!status) return std::move(status).error();
    done += piece;
  }
  return at;
}

void CallFrameCopy::append_section_table() {
  if (sections_.empty()) return;
  std::vector<std::byte>& bytes = image_->bytes_;
  Elf64_Shdr names{};
  names.sh_name = kNameOfNames;
  names.sh_type = SHT_STRTAB;
  names.sh_offset = bytes.size();
  names.sh_size = kSectionNames.size();
  names.sh_addralign = 1;
  const auto text = std::as_bytes(std::span(kSectionNames));
  bytes.insert(bytes.end(), text.begin(), text.end());
  sections_.insert(sections_.begin(), Elf64_Shdr{});  // section 0 is not a real section
  sections_.push_back(names);
  const std::size_t at = (bytes.size() + 15) & ~std::size_t{15};
  bytes.resize(at + sections_.size() * sizeof(Elf64_Shdr));
  std::memcpy(bytes.data() + at, sections_.data(), sections_.size() * sizeof(Elf64_Shdr));
  header_.e_shoff = at;
}

void CallFrameCopy::store_headers() {
  if (sections_.empty()) header_.e_shoff = 0;
  header_.e_ehsize = sizeof(Elf64_Ehdr);
  header_.e_phoff = sizeof(Elf64_Ehdr);
  header_.e_shentsize = sizeof(Elf64_Shdr);
  header_.e_shnum = static_cast<Elf64_Half>(sections_.size());
  header_.e_shstrndx =
      sections_.empty() ? Elf64_Half{0} : static_cast<Elf64_Half>(sections_.size() - 1);
  bool first = true;
  for (Elf64_Phdr& segment : segments_) {
    // Only the first segment of this kind was checked.
    if (segment.p_type == PT_GNU_EH_FRAME && eh_frame_found_ && std::exchange(first, false)) {
      continue;
    }
    // Only the addresses of segments count, because the copy does not have their bytes. Nothing may
    // look for a note or a dynamic section that is not there.
    if (segment.p_type != PT_LOAD) segment.p_type = PT_NULL;
    segment.p_offset = 0;
    segment.p_filesz = 0;
  }
  std::memcpy(image_->bytes_.data(), &header_, sizeof header_);
  std::memcpy(image_->bytes_.data() + sizeof header_, segments_.data(),
              segments_.size() * sizeof(Elf64_Phdr));
}

Result<std::shared_ptr<CallFrameImage>> CallFrameImage::from_file(UniqueFd file) {
  return CallFrameCopy(std::move(file)).make();
}

}  // namespace labelscope
