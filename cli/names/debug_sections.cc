#include "cli/names/debug_sections.h"

#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace labelscope::cli {
namespace {

// Returns the whole pages of the memory.
std::span<std::byte> whole_pages(std::span<const std::byte> memory) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = (start + page - 1) & ~(page - 1);
  const std::uintptr_t end = (start + memory.size()) & ~(page - 1);
  if (first >= end) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): pages are found by numbers
  return {reinterpret_cast<std::byte*>(first), end - first};
}

}  // namespace

// A child that is forked gets such memory as zeros (MADV_WIPEONFORK), which the kernel supports for
// all private memory but views of files. The worker forks no child.
bool is_view_of_file(std::span<const std::byte> memory) {
  const std::span<std::byte> pages = whole_pages(memory);
  if (pages.empty()) return false;
  if (::madvise(pages.data(), pages.size(), MADV_WIPEONFORK) == 0) {
    ::madvise(pages.data(), pages.size(), MADV_KEEPONFORK);
    return false;
  }
  // Does this kernel know the question at all?
  alignas(65536) static std::byte own[65536];
  if (::madvise(own, sizeof own, MADV_WIPEONFORK) != 0) return false;
  ::madvise(own, sizeof own, MADV_KEEPONFORK);
  return true;
}

DebugSections::DebugSections(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* found = elf_strptr(elf, names, header.sh_name);
    std::string_view name = found == nullptr ? "" : found;
    if (name.starts_with(".debug_")) {
      name.remove_prefix(7);
    } else if (name.starts_with(".zdebug_")) {
      name.remove_prefix(8);
    } else {
      continue;
    }
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const std::span bytes(static_cast<const std::byte*>(data->d_buf), data->d_size);
    if (name == "info") info = bytes;
    if (name == "abbrev") abbreviations = bytes;
    if (name == "line") lines.lines = bytes;
    if (name == "str") lines.text = bytes;
    if (name == "line_str") lines.text_of_lines = bytes;
    if (is_view_of_file(bytes)) all_.push_back(bytes);
  }
}

void DebugSections::release_pages() const {
  for (const std::span<const std::byte> section : all_) {
    const std::span<std::byte> pages = whole_pages(section);
    ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
  }
}

}  // namespace labelscope::cli
