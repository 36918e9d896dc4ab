// Modules out of mappings. The first PT_LOAD segment of a file, mapped at its page's offset, starts
// a copy; everything of that file up to the copy's last segment belongs to it. A file that is
// mapped as data (by a tool that reads it) has no executable mapping and is no module.
#include "modules.h"

#include <algorithm>
#include <map>

namespace labelscope {
namespace {

// Both processors' loaders map segments by the page that the linker assumed; 4 KiB divides them
// all.
constexpr std::uint64_t kPage = 4096;
std::uint64_t page_down(std::uint64_t value) { return value & ~(kPage - 1); }

struct Copy {
  Address bias;
  Address start;
  Address end;
  Address limit;  // nothing of this copy lies at or above
  bool executable;
};

std::vector<Copy> find_copies(const ElfImage& image, const std::vector<const Mapping*>& mapped) {
  const std::vector<LoadSegment>& loads = image.load_segments();
  const LoadSegment& first = *std::min_element(
      loads.begin(), loads.end(),
      [](const LoadSegment& a, const LoadSegment& b) { return a.vaddr < b.vaddr; });
  std::uint64_t last_end = 0;
  for (const LoadSegment& load : loads)
    last_end = std::max(last_end, load.vaddr + load.memory_size);
  std::vector<Copy> copies;
  for (const Mapping* mapping : mapped) {
    bool continues = !copies.empty() && mapping->start < copies.back().limit;
    if (!continues) {
      if (mapping->file_offset != page_down(first.file_offset))
        continue;  // mapped by hand, in part
      Address bias = mapping->start - page_down(first.vaddr);
      copies.push_back({bias, mapping->start, mapping->end, bias + last_end, false});
    }
    copies.back().end = std::max(copies.back().end, mapping->end);
    copies.back().executable |= mapping->executable;
  }
  return copies;
}

}  // namespace

ModuleList list_modules(const Target& target, const std::vector<Mapping>& mappings,
                        const std::function<bool(const FileId&)>& wanted) {
  std::map<FileId, std::vector<const Mapping*>> by_file;
  for (const Mapping& mapping : mappings) {
    if (mapping.file) by_file[mapping.file].push_back(&mapping);
  }
  ModuleList list;
  for (const auto& [file, mapped] : by_file) {
    bool executable =
        std::any_of(mapped.begin(), mapped.end(), [](const Mapping* m) { return m->executable; });
    if (!executable || !wanted(file)) continue;
    const std::string& path = mapped.front()->path;
    auto fd = target.open_file(*mapped.front());
    if (!fd) {
      list.problems.push_back({path, std::move(fd).error()});
      continue;
    }
    auto image = ElfImage::open(*std::move(fd));
    if (!image) {
      list.problems.push_back({path, std::move(image).error()});
      continue;
    }
    auto shared = std::make_shared<ElfImage>(*std::move(image));
    for (const Copy& copy : find_copies(*shared, mapped)) {
      if (copy.executable)
        list.modules.push_back({path, file, shared, copy.bias, copy.start, copy.end});
    }
  }
  std::sort(list.modules.begin(), list.modules.end(),
            [](const Module& a, const Module& b) { return a.start < b.start; });
  return list;
}

}  // namespace labelscope
