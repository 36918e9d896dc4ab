// If a part of the list cannot be read, a publisher may be in it. So that is reported as a problem.
#include "core/core_link_map.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/pages.h"
#include "elf/elf_image.h"
#include "process/link_map.h"

namespace labelscope {
namespace {

constexpr std::size_t kMaxPath = 4096;

// Returns the path of the loader (PT_INTERP).
std::string interpreter_of(const UniqueFd& fd, const Elf64_Ehdr& header) {
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto ph = read_value<Elf64_Phdr>(fd, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!ph) return {};
    if (ph->p_type != PT_INTERP || ph->p_filesz > kMaxPath) continue;
    std::string path(ph->p_filesz, '\0');
    if (!read_fully(fd, ph->p_offset, std::as_writable_bytes(std::span(path)))) return {};
    path.resize(std::min(path.find('\0'), path.size()));
    return path;
  }
  return {};
}

void add_segments(const ElfImage& image, Address bias, const std::string& path,
                  std::vector<MappedRange>& ranges) {
  for (const LoadSegment& load : image.load_segments()) {
    const Address start = page_down(bias + load.vaddr);
    const Address end = page_up(bias + load.vaddr + load.file_size);
    if (start < end) ranges.push_back({start, end, page_down(load.file_offset), path});
  }
}

class LinkMapWalk {
 public:
  LinkMapWalk(const CoreNotes& notes, const DumpedMemory& dumped, Machine machine,
              FileFinder& finder, LinkedFiles& list)
      : notes_(notes), dumped_(dumped), machine_(machine), finder_(finder), list_(list) {}

  void walk() {
    if (!add_main_executable()) return;
    const bool whole = dynamic_ && add_libraries(*dynamic_);
    // A program without a loader has no list.
    if (whole || interpreter_.empty()) return;
    list_.problems.push_back(
        {{}, {}, "the loader's list of libraries cannot be read to its end", false});
  }

 private:
  // Returns true if the list was followed to its end.
  bool add_libraries(Address dynamic) {
    const LinkMap map = read_link_map(dumped_, dynamic);
    for (const LoadedLink& link : map.links) {
      // The loader's own name is in the executable, and that page may not have been dumped.
      const bool is_loader = notes_.loader == link.bias && link.bias != 0;
      const std::string name = is_loader ? interpreter_ : target_text(dumped_, link.name);
      // The executable has an empty name, and the vDSO a name without a path.
      if (name.find('/') != std::string::npos) add_library(name, link);
    }
    return map.complete;
  }

  // Opens the file of that name whose image `fits`.
  template <class Fits>
  std::optional<ElfImage> open(const WantedFile& wanted, Fits fits) {
    auto fd = finder_.find(wanted, [&](const UniqueFd& candidate) -> Status {
      auto image = image_of(candidate);
      if (!image) return Error{ErrorCode::kNotFound, "cannot be used: " + image.error().context};
      if (image->machine() == machine_ && fits(*image, candidate)) return {};
      return Error{ErrorCode::kNotFound, "is not the file that the process had loaded"};
    });
    if (!fd) {
      list_.problems.push_back({wanted.path, {}, fd.error().context, false});
      return std::nullopt;
    }
    auto image = ElfImage::open(*std::move(fd));
    if (!image) return std::nullopt;
    return *std::move(image);
  }
  static Result<ElfImage> image_of(const UniqueFd& fd) {
    return ElfImage::open(UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)));
  }

  // Returns false if its file was not found.
  bool add_main_executable() {
    if (!notes_.program_headers) return false;
    std::string path = notes_.executable_name ? target_text(dumped_, *notes_.executable_name) : "";
    if (path.empty()) path = notes_.comm;
    const auto bias_of = [&](const ElfImage& image) {
      return *notes_.program_headers - image.program_headers_address().value_or(0);
    };
    const auto fits = [&](const ElfImage& one, const UniqueFd& fd) {
      if (!one.program_headers_address()) return false;
      if (!one.position_independent() && bias_of(one) != 0) return false;
      const auto header = read_value<Elf64_Ehdr>(fd, 0);
      if (!header) return false;
      interpreter_ = interpreter_of(fd, *header);
      return !notes_.entry || header->e_entry + bias_of(one) == *notes_.entry;
    };
    auto image = open({path, {}, true}, fits);
    if (!image) return false;
    add_segments(*image, bias_of(*image), path, list_.ranges);
    if (image->dynamic_address()) dynamic_ = bias_of(*image) + *image->dynamic_address();
    return true;
  }

  void add_library(const std::string& name, const LoadedLink& link) {
    auto image = open({name, {}, false}, [&](const ElfImage& one, const UniqueFd&) {
      return one.dynamic_address() && link.bias + *one.dynamic_address() == link.dynamic;
    });
    if (image) add_segments(*image, link.bias, name, list_.ranges);
  }

  const CoreNotes& notes_;
  const DumpedMemory& dumped_;
  Machine machine_;
  FileFinder& finder_;
  LinkedFiles& list_;
  std::string interpreter_;         // that of the main executable
  std::optional<Address> dynamic_;  // its dynamic section, at run time
};

}  // namespace

LinkedFiles list_linked_files(const CoreNotes& notes, const DumpedMemory& dumped, Machine machine,
                              FileFinder& finder) {
  LinkedFiles list;
  LinkMapWalk(notes, dumped, machine, finder, list).walk();
  return list;
}

}  // namespace labelscope
