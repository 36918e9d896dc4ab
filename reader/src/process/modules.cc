// From mappings to modules. The problem: not every mapped ELF file is a module. A profiler may map
// one to read it, whole or in part, even executable. A loader maps each PT_LOAD segment at the load
// bias plus its address, and code executable:
//
//   in the file    [ headers, constants ][  code  ][  data  ]
//   in memory      [        r--         ][  r-x   ]    [  rw-   ]      each at bias + p_vaddr
//
// A file that is in memory like this is a module. Any other is not.
#include "process/modules.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/pages.h"
#include "elf/elf_image.h"

namespace labelscope {
namespace {

// The linker chooses a page size, and loaders map segments by it. It is a multiple of 4 KiB on both
// processors.

struct Copy {
  Address bias;
  Address start;
  Address end;
};

// The mappings of one file, by address.
using FileMappings = std::vector<const Mapping*>;

FileMappings::const_iterator first_past(const FileMappings& mapped, Address address) {
  return std::partition_point(mapped.begin(), mapped.end(),
                              [&](const Mapping* mapping) { return mapping->end <= address; });
}

enum class Placement {
  kNone,
  kLoading,  // the code is in place, but the first segment's mapping still covers other segments
  kLoaded,
};

// Returns whether a file is in memory as a loader maps it, with this load bias: no mapping of it is
// where its segments need other bytes, and some of its code is there. (A program may have moved the
// rest of its code to huge pages.)
Placement placement(const std::vector<LoadSegment>& loads, const FileMappings& mapped,
                    Address bias) {
  const Mapping* code = nullptr;
  for (const bool executable : {true, false}) {
    for (const LoadSegment& load : loads) {
      if (load.executable != executable) continue;
      const Address start = bias + load.vaddr;
      for (auto it = first_past(mapped, start);
           it != mapped.end() && (*it)->start < start + load.file_size; ++it) {
        const Mapping& mapping = **it;
        if (mapping.start - mapping.file_offset != start - load.file_offset) {
          const bool by_loader = code != nullptr && !mapping.executable;
          return by_loader ? Placement::kLoading : Placement::kNone;
        }
        if (executable && code == nullptr && mapping.executable) code = &mapping;
        // This is a single mapping of the whole file. In a file whose segments have the same
        // distances in memory, it would look right; but a loader would map the data writable.
        if (!executable && load.writable && &mapping == code) return Placement::kNone;
      }
    }
  }
  return code != nullptr ? Placement::kLoaded : Placement::kNone;
}

std::vector<Copy> find_copies(const ElfImage& image, const FileMappings& mapped, bool& loading) {
  const std::vector<LoadSegment>& loads = image.load_segments();
  const LoadSegment& first = *std::ranges::min_element(loads, {}, &LoadSegment::vaddr);
  std::uint64_t last_end = 0;
  for (const LoadSegment& load : loads)
    last_end = std::max(last_end, load.vaddr + load.memory_size);
  std::vector<Copy> copies;
  Address limit = 0;  // end of the last copy
  for (const Mapping* mapping : mapped) {
    if (mapping->start < limit) {
      copies.back().end = std::max(copies.back().end, mapping->end);
      continue;
    }
    if (mapping->file_offset != page_down(first.file_offset)) continue;
    const Address bias = mapping->start - page_down(first.vaddr);
    const Placement found = placement(loads, mapped, bias);
    loading |= found == Placement::kLoading;
    if (found != Placement::kLoaded) continue;
    copies.push_back({bias, mapping->start, mapping->end});
    limit = bias + last_end;
  }
  return copies;
}

}  // namespace

ModuleList list_modules(const Target& target, const std::vector<Mapping>& mappings,
                        const std::function<bool(const Mapping&)>& wanted,
                        const std::function<bool(const Module&)>& keep) {
  std::map<FileId, FileMappings> by_file;
  for (const Mapping& mapping : mappings) {
    if (mapping.file) by_file[mapping.file].push_back(&mapping);
  }
  ModuleList list;
  for (const auto& [file, mapped] : by_file) {
    bool executable = std::ranges::any_of(mapped, [](const Mapping* m) { return m->executable; });
    if (!executable || !wanted(*mapped.front())) continue;
    const std::string& path = mapped.front()->path;
    auto opened = target.open_with_times(*mapped.front());
    if (!opened) {
      list.problems.push_back({path, std::move(opened).error()});
      continue;
    }
    auto image = ElfImage::open(std::move(opened->file));
    if (!image) {
      list.problems.push_back({path, std::move(image).error()});
      continue;
    }
    auto shared = std::make_shared<ElfImage>(*std::move(image));
    const std::size_t before = list.modules.size();
    for (const Copy& copy : find_copies(*shared, mapped, list.loading)) {
      list.modules.push_back({path, file, shared, copy.bias, copy.start, copy.end, opened->times});
    }
    const auto copies = std::span(list.modules).subspan(before);
    if (std::any_of(copies.begin(), copies.end(), keep)) continue;
    for (Module& module : copies) module.image.reset();
  }
  std::ranges::sort(list.modules, {}, &Module::start);
  return list;
}

bool is_main_executable(const Module& module, std::optional<Address> program_headers) {
  const auto linked = module.image->program_headers_address();
  return program_headers && linked && module.load_bias + *linked == *program_headers;
}

}  // namespace labelscope
