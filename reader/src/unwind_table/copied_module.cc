#include "unwind_table/copied_module.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/pages.h"

namespace labelscope {
namespace {

// Segments may overlap in memory: then the sum of their sizes is bounded, as the size of the file.
constexpr std::uint64_t kMostBytes = 256ULL << 20;
// The kernel takes no more than 64 KiB of program headers.
constexpr std::size_t kMostSegments = 65536 / sizeof(Elf64_Phdr);
// Segments are mapped by pages; 4 KiB divides the pages of both processors.

// The kernel's name of a file in memory has at most 249 bytes. It shows the name behind kMemory and
// before kDeleted.
constexpr std::string_view kCopyOf = "labelscope's copy of ";
constexpr std::size_t kMostOfPath = 200;
constexpr std::string_view kMemory = "/memfd:";
constexpr std::string_view kDeleted = " (deleted)";

Status write_at(const UniqueFd& fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto done = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (done == static_cast<ssize_t>(bytes.size())) return {};
  return system_error(errno, "cannot write the copy of a module");
}

bool is_copied(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0;
}

Status copy_segment(const MemorySource& memory, Address from, const Elf64_Phdr& segment,
                    const UniqueFd& fd) {
  std::vector<std::byte> piece(16 * kPage);
  for (std::uint64_t done = 0; done < segment.p_filesz; done += piece.size()) {
    const std::span bytes = std::span(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), segment.p_filesz - done)));
    if (!memory.read(from + done, bytes)) continue;
    if (Status status = write_at(fd, segment.p_offset + done, bytes); !status) return status;
  }
  return {};
}

}  // namespace

std::string named_copy(std::string_view path) {
  const std::string prefix = std::string(kMemory).append(kCopyOf);
  if (!path.starts_with(prefix)) return std::string(path);
  path.remove_prefix(prefix.size());
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return std::string(path);
}

Result<UniqueFd> copy_module(const MemorySource& memory, Address start, std::string_view path) {
  auto header = read_value<Elf64_Ehdr>(memory, start);
  if (!header) return std::move(header).error();
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > kMostSegments) {
    return Error{ErrorCode::kMalformed, "no ELF file is mapped there"};
  }
  std::vector<Elf64_Phdr> segments(header->e_phnum);
  Status status = memory.read(start + header->e_phoff, std::as_writable_bytes(std::span(segments)));
  if (!status) return std::move(status).error();
  const auto first = std::find_if(segments.begin(), segments.end(),
                                  [](const Elf64_Phdr& each) { return each.p_type == PT_LOAD; });
  if (first == segments.end()) return Error{ErrorCode::kMalformed, "it loads nothing"};
  const Address bias = start - page_down(first->p_vaddr);

  std::uint64_t sum = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (!is_copied(segment)) continue;
    if (segment.p_offset > kMostBytes || segment.p_filesz > kMostBytes - segment.p_offset) {
      return Error{ErrorCode::kLimit, "it is larger than 256 MiB"};
    }
    sum += segment.p_filesz;
    if (sum > kMostBytes) {
      return Error{ErrorCode::kLimit, "its segments together are larger than 256 MiB"};
    }
  }

  const std::string_view known = path.substr(path.size() - std::min(path.size(), kMostOfPath));
  UniqueFd fd(memfd_create(std::string(kCopyOf).append(known).c_str(), MFD_CLOEXEC));
  if (!fd.valid()) return system_error(errno, "cannot make a file for the copy of a module");
  for (const Elf64_Phdr& segment : segments) {
    if (!is_copied(segment)) continue;
    status = copy_segment(memory, bias + segment.p_vaddr, segment, fd);
    if (!status) return std::move(status).error();
  }
  header->e_shoff = 0;  // sections are not mapped
  header->e_shnum = 0;
  header->e_shstrndx = SHN_UNDEF;
  header->e_phoff = sizeof(Elf64_Ehdr);
  status = write_at(fd, 0, std::as_bytes(std::span(&*header, 1)));
  if (status) status = write_at(fd, header->e_phoff, std::as_bytes(std::span(segments)));
  // The file has zeros up to the end of the last segment where nothing could be read.
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (is_copied(segment)) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  if (status && end > sizeof(Elf64_Ehdr) + segments.size() * sizeof(Elf64_Phdr) &&
      ::ftruncate(fd.get(), static_cast<off_t>(end)) != 0) {
    status = system_error(errno, "cannot write the copy of a module");
  }
  if (!status) return std::move(status).error();
  return fd;
}

}  // namespace labelscope
