// FakeTarget turns segments into mappings and memory.
#include "support/fake_target.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace labelscope::test {

UniqueFd open_bytes(const std::string& bytes) {
  UniqueFd fd(::memfd_create("bytes", MFD_CLOEXEC));
  std::size_t done = 0;
  while (fd.valid() && done < bytes.size()) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n <= 0) std::abort();  // no test can go on without memory
    done += static_cast<std::size_t>(n);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::uint64_t FakeTarget::inode_of(const std::string& path, const std::string& file) {
  return files_.try_emplace(path, File{file, files_.size() + 1}).first->second.inode;
}

void FakeTarget::add_mapping(Mapping mapping) {
  memory_.map(mapping.start, mapping.end - mapping.start);
  mappings_.push_back(std::move(mapping));
  std::sort(mappings_.begin(), mappings_.end(),
            [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
}

void FakeTarget::map_bytes(const std::string& path, const std::string& file, Address start,
                           std::uint64_t size, bool executable) {
  Mapping mapping{start, start + size, 0, true, false, executable, {8, 1, inode_of(path, file)},
                  path};
  add_mapping(std::move(mapping));
  memory_.put_text(start, std::string_view(file).substr(0, size));
}

void FakeTarget::protect(Address start, Address end, bool executable) {
  const auto split_at = [&](Address address) {
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
      Mapping& whole = mappings_[i];
      if (address <= whole.start || address >= whole.end) continue;
      Mapping rest = whole;
      rest.file_offset += address - whole.start;
      rest.start = whole.end = address;
      mappings_.insert(mappings_.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(rest));
      return;
    }
  };
  split_at(start);
  split_at(end);
  for (Mapping& mapping : mappings_) {
    if (mapping.start >= start && mapping.end <= end) mapping.executable = executable;
  }
}

void FakeTarget::load(const std::string& path, const std::string& file, Address bias, bool main) {
  constexpr Address kPage = FakeMemory::kPage;
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  const std::uint64_t inode = inode_of(path, file);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD) continue;
    Mapping mapping;
    mapping.start = (bias + segment.p_vaddr) & ~(kPage - 1);
    mapping.end = (bias + segment.p_vaddr + segment.p_memsz + kPage - 1) & ~(kPage - 1);
    mapping.file_offset = segment.p_offset & ~(kPage - 1);
    mapping.readable = true;
    mapping.writable = (segment.p_flags & PF_W) != 0;
    mapping.executable = (segment.p_flags & PF_X) != 0;
    mapping.file = {8, 1, inode};
    mapping.path = path;
    add_mapping(mapping);
    memory_.put_text(bias + segment.p_vaddr,
                     std::string_view(file).substr(segment.p_offset, segment.p_filesz));
    if (main && segment.p_offset == 0) headers_ = bias + segment.p_vaddr + header.e_phoff;
  }
}

Result<UniqueFd> FakeTarget::open_file(const Mapping& mapping) const {
  ++opened_[mapping.path];
  const auto file = files_.find(mapping.path);
  if (file == files_.end() || std::count(lost_.begin(), lost_.end(), mapping.path) != 0) {
    return Error{ErrorCode::kNotFound, mapping.path + " is gone"};
  }
  return open_bytes(file->second.bytes);
}

int FakeTarget::opened(const std::string& path) const {
  const auto count = opened_.find(path);
  return count == opened_.end() ? 0 : count->second;
}

}  // namespace labelscope::test
