// This reads the headers of a core file.
//
//   ELF header | program headers | notes | memory ... | (section header)
//
// A process may have more than 65,534 mappings, and so many program headers. Then e_phnum is
// PN_XNUM, and the count is in the only section header, which the kernel writes at the very end of
// the file. If the file is cut, that is missing. But the notes follow right behind the program
// headers, so the count follows from their offset.
#include "core/core_layout.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/malformed.h"

namespace labelscope {
namespace {

// vm.max_map_count is 65,530 by default; databases raise it to some 262,144.
constexpr std::uint64_t kMaxProgramHeaders = 1 << 20;
// The kernel and gdb write one note segment.
constexpr std::size_t kMaxNoteSegments = 16;
constexpr std::size_t kHeadersAtOnce = 1024;

Error unsupported(std::string what) { return Error{ErrorCode::kUnsupported, std::move(what)}; }

struct Format {
  std::string_view magic;
  std::string_view name;
  std::string_view program;
};

// Recognizes other files that people take for a core file.
std::optional<Error> other_format(std::string_view head) {
  using std::string_view_literals::operator""sv;
  constexpr std::array<Format, 5> kCompressed{{
      {"\x28\xb5\x2f\xfd"sv, "zstd", "zstd -d"},
      {"\x04\x22\x4d\x18"sv, "LZ4", "lz4 -d"},
      {"\xfd"
       "7zXZ"sv,
       "XZ", "xz -d"},
      {"\x1f\x8b"sv, "gzip", "gzip -d"},
      {"BZh"sv, "bzip2", "bzip2 -d"},
  }};
  for (const Format& format : kCompressed) {
    if (!head.starts_with(format.magic)) continue;
    return unsupported("it is compressed (" + std::string(format.name) +
                       "): decompress it first, with `" + std::string(format.program) +
                       "`, or let `coredumpctl dump -o core PID` do it");
  }
  if (head.starts_with("MDMP")) {
    return unsupported("it is a minidump, not an ELF core file: it does not have the memory");
  }
  return std::nullopt;
}

Status check_header(const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return unsupported("it is not of a 64-bit little-endian process");
  }
  if (header.e_type == ET_EXEC || header.e_type == ET_DYN) {
    return malformed("it is an executable or a library, not a core file");
  }
  if (header.e_type != ET_CORE) return malformed("it is not a core file");
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) {
    return unsupported("it is of a machine that is neither x86-64 nor aarch64");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return malformed("it has no program headers");
  return {};
}

Result<std::uint64_t> count_headers(const LoadedFile& file, const Elf64_Ehdr& header) {
  std::uint64_t count = header.e_phnum;
  if (count == PN_XNUM) {
    auto section = read_value<Elf64_Shdr>(file.fd, header.e_shoff);
    if (section && section->sh_info != 0) {
      count = section->sh_info;
    } else {
      auto first = read_value<Elf64_Phdr>(file.fd, header.e_phoff);
      if (!first || first->p_type != PT_NOTE || first->p_offset <= header.e_phoff) {
        return malformed("it is cut short: the number of its program headers is missing");
      }
      count = (first->p_offset - header.e_phoff) / sizeof(Elf64_Phdr);
    }
  }
  if (count == 0) return malformed("it has no program headers");
  if (count > kMaxProgramHeaders) {
    return Error{ErrorCode::kLimit, "it has more than a million program headers"};
  }
  return count;
}

Status add_header(const Elf64_Phdr& ph, CoreLayout& layout) {
  if (ph.p_type != PT_LOAD && ph.p_type != PT_NOTE) return {};
  if (ph.p_filesz > UINT64_MAX - ph.p_offset) {
    return malformed("a program header leads beyond all files");
  }
  if (ph.p_type == PT_NOTE) {
    if (layout.notes.size() == kMaxNoteSegments) {
      return Error{ErrorCode::kLimit, "it has more segments of notes than any writer makes"};
    }
    layout.notes.push_back({ph.p_offset, ph.p_filesz});
  } else {
    if (ph.p_memsz > UINT64_MAX - ph.p_vaddr || ph.p_filesz > ph.p_memsz) {
      return malformed("a PT_LOAD segment contradicts itself");
    }
    if (ph.p_memsz == 0) return {};
    layout.segments.push_back({ph.p_vaddr, ph.p_vaddr + ph.p_memsz, ph.p_offset, ph.p_filesz,
                               (ph.p_flags & PF_R) != 0, (ph.p_flags & PF_W) != 0,
                               (ph.p_flags & PF_X) != 0});
  }
  layout.expected_size = std::max(layout.expected_size, ph.p_offset + ph.p_filesz);
  return {};
}

// An honest core has no overlaps. Of two overlapping segments, the one that starts first wins.
void cut_overlaps(std::vector<CoreSegment>& segments) {
  std::ranges::stable_sort(segments, {}, &CoreSegment::start);
  Address end = 0;
  for (CoreSegment& segment : segments) {
    if (segment.start < end) {
      const std::uint64_t cut = std::min(end, segment.end) - segment.start;
      const std::uint64_t cut_of_file = std::min(cut, segment.file_size);
      segment.start += cut;
      segment.file_offset += cut_of_file;
      segment.file_size -= cut_of_file;
    }
    end = std::max(end, segment.end);
  }
  std::erase_if(segments, [](const CoreSegment& s) { return s.start >= s.end; });
}

}  // namespace

Result<CoreLayout> read_core_layout(const LoadedFile& file, std::uint64_t file_size) {
  if (file_size == 0) {
    return malformed("it is empty: the disk was full, or a limit on core files is 0");
  }
  std::array<char, 8> head{};
  Status status = file.read_offset(
      0, std::as_writable_bytes(std::span(head).first(std::min<std::uint64_t>(8, file_size))));
  if (!status) return std::move(status).error();
  if (auto other = other_format({head.data(), head.size()})) return *std::move(other);
  if (!std::string_view(head.data(), head.size()).starts_with(ELFMAG)) {
    return malformed("it is not an ELF file, as core files are");
  }
  auto header = read_value<Elf64_Ehdr>(file.fd, 0);
  if (!header) return malformed("it is cut short: its header is missing");
  if (status = check_header(*header); !status) return std::move(status).error();
  auto count = count_headers(file, *header);
  if (!count) return std::move(count).error();

  CoreLayout layout;
  layout.machine = header->e_machine == EM_X86_64 ? Machine::kX86_64 : Machine::kAarch64;
  std::vector<Elf64_Phdr> some;
  for (std::uint64_t done = 0; done < *count; done += some.size()) {
    some.resize(std::min<std::uint64_t>(*count - done, kHeadersAtOnce));
    if (header->e_phoff > UINT64_MAX / 2) return malformed("its program headers are nowhere");
    status = file.read_offset(header->e_phoff + done * sizeof(Elf64_Phdr),
                              std::as_writable_bytes(std::span(some)));
    if (!status) return malformed("it is cut short: some of its program headers are missing");
    for (const Elf64_Phdr& ph : some) {
      if (status = add_header(ph, layout); !status) return std::move(status).error();
    }
  }
  cut_overlaps(layout.segments);
  return layout;
}

const CoreSegment* find_segment(const std::vector<CoreSegment>& segments, Address address) {
  auto after = std::ranges::upper_bound(segments, address, {}, &CoreSegment::start);
  if (after == segments.begin()) return nullptr;
  const CoreSegment& candidate = *std::prev(after);
  return address < candidate.end ? &candidate : nullptr;
}

}  // namespace labelscope
