// LoadedFile makes one pread for each question that the first page does not answer.
#include "elf/loaded_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/pages.h"

namespace labelscope {

const LoadSegment* LoadedFile::segment_of(std::uint64_t vaddr, std::uint64_t size) const {
  for (const LoadSegment& load : loads) {
    if (vaddr < load.vaddr || vaddr - load.vaddr >= load.file_size) continue;
    return size <= load.file_size - (vaddr - load.vaddr) ? &load : nullptr;
  }
  return nullptr;
}

bool LoadedFile::holds(std::uint64_t vaddr, std::uint64_t size) const {
  return segment_of(vaddr, size) != nullptr;
}

Status LoadedFile::read(std::uint64_t vaddr, std::span<std::byte> out) const {
  const LoadSegment* load = segment_of(vaddr, out.size());
  if (load == nullptr) return Error{ErrorCode::kMalformed, "a table lies outside the file"};
  return read_offset(load->file_offset + (vaddr - load->vaddr), out);
}

void LoadedFile::keep_first_page() {
  first_page.resize(kPage);
  const ssize_t got = ::pread(fd.get(), first_page.data(), kPage, 0);
  first_page.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

Status LoadedFile::read_offset(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset <= first_page.size() && out.size() <= first_page.size() - offset) {
    std::ranges::copy(std::span(first_page).subspan(offset, out.size()), out.begin());
    return {};
  }
  return read_fully(fd, offset, out);
}

Status read_fully(const UniqueFd& file, std::uint64_t offset, std::span<std::byte> out) {
  constexpr auto kLast = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (offset > kLast || out.size() > kLast - offset) {
    return Error{ErrorCode::kMalformed, "a table lies outside the file"};
  }
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(file.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "the file cannot be read");
    if (got == 0) return Error{ErrorCode::kMalformed, "a table lies outside the file"};
    done += static_cast<std::size_t>(got);
  }
  return {};
}

std::optional<std::uint64_t> load_bias_at(const std::vector<LoadSegment>& segments,
                                          std::uint64_t start, std::uint64_t file_offset) {
  std::optional<std::uint64_t> bias;
  for (const LoadSegment& load : segments) {
    const std::uint64_t first = page_down(load.file_offset);
    if (!load.executable || file_offset < first ||
        file_offset >= load.file_offset + load.file_size) {
      continue;
    }
    // A page of the file may hold the end of one segment and the start of the next: then the start
    // of the next is mapped there.
    if (!bias || file_offset == first) bias = start - (file_offset - load.file_offset + load.vaddr);
  }
  return bias;
}

}  // namespace labelscope
