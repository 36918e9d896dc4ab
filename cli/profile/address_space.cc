// ModuleTable: from a mapping to a module with its load bias, build ID and open file.
// AddressSpace: a map of ranges in which a new mapping replaces whatever it overlaps.
#include "cli/profile/address_space.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "labelscope/elf_image.h"
#include "labelscope/regular_file.h"

namespace labelscope::cli {
namespace {

// Opens the file by its name, after the process has ended. An error if it is not the file that was
// mapped.
Result<UniqueFd> open_by_name(const Mapping& mapping) {
  // Files of a core have numbers that the core's reader made up, and device 0:0.
  if (mapping.file.major == 0 && mapping.file.minor == 0) {
    return Error{ErrorCode::kNotFound, mapping.path + " is not a file of this system"};
  }
  auto fd = open_regular_file(mapping.path);
  if (!fd) return Error{fd.error().code, mapping.path + " " + fd.error().context};
  struct stat found {};
  if (::fstat(fd->get(), &found) != 0 || found.st_ino != mapping.file.inode) {
    return Error{ErrorCode::kNotFound, mapping.path + " is another file now"};
  }
  return fd;
}

Result<ElfImage> open_image(const UniqueFd& file) {
  int copy = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return system_error(errno, "dup");
  return ElfImage::open(UniqueFd(copy));
}

}  // namespace

const ModuleTable::OpenFile& ModuleTable::open(const Mapping& mapping, const Target* process) {
  auto [entry, fresh] = open_files_.try_emplace(mapping.file);
  if (!fresh) return entry->second;
  auto fd = process != nullptr ? process->open_file(mapping) : open_by_name(mapping);
  if (!fd && process != nullptr) {
    auto by_name = open_by_name(mapping);  // the process ended just now
    if (by_name) fd = std::move(by_name);
  }
  if (fd) {
    entry->second.file = std::make_shared<UniqueFd>(*std::move(fd));
    auto image = open_image(*entry->second.file);
    if (image) {
      entry->second.build_id = image->build_id();
      entry->second.segments = image->load_segments();
    }
  } else {
    entry->second.problem = "the file could not be opened: " + fd.error().context;
  }
  return entry->second;
}

Index ModuleTable::add(const Mapping& mapping, const Target* process) {
  Key key{mapping.file, mapping.start, mapping.end, mapping.file_offset, mapping.path};
  auto known = known_.find(key);
  if (known != known_.end()) return known->second;

  ProfileModule module;
  module.path = mapping.path.empty() ? "[anon]" : mapping.path;
  module.start = mapping.start;
  module.end = mapping.end;
  module.file_offset = mapping.file_offset;
  ModuleFile file;
  if (mapping.file) {
    const OpenFile& opened = open(mapping, process);
    module.kind = ProfileModule::Kind::kFile;
    module.build_id = opened.build_id;
    module.symbol_problem = opened.problem;
    file = opened.file;
    // If the file is not there, or if something other than an ELF loader has mapped it, addresses
    // count from the start of the file.
    module.load_bias = load_bias_at(opened.segments, mapping.start, mapping.file_offset)
                           .value_or(mapping.start - mapping.file_offset);
  } else if (module.path == "[vdso]") {
    module.load_bias = mapping.start;
  }
  auto index = static_cast<Index>(modules_.size());
  modules_.push_back(std::move(module));
  files_.push_back(std::move(file));
  known_.emplace(std::move(key), index);
  return index;
}

Index ModuleTable::kernel() {
  if (kernel_ == kNoIndex) {
    ProfileModule module;
    module.kind = ProfileModule::Kind::kKernel;
    module.path = "[kernel]";
    // The kernel has the upper half of the address space, on both processors.
    module.start = 1ULL << 63;
    module.end = UINT64_MAX;
    kernel_ = static_cast<Index>(modules_.size());
    modules_.push_back(std::move(module));
    files_.emplace_back();
  }
  return kernel_;
}

Status AddressSpace::load(const Target& process) {
  auto mappings = process.mappings();
  if (!mappings) return std::move(mappings).error();
  const auto headers = process.program_headers_address().value_or(0);
  const auto program =
      std::find_if(mappings->begin(), mappings->end(), [&](const Mapping& mapping) {
        return mapping.file && mapping.start <= headers && headers < mapping.end;
      });
  bool found = false;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable) continue;
    const Index module = add(mapping, &process);
    if (found || program == mappings->end() || mapping.file != program->file) continue;
    program_ = module;
    found = true;
  }
  return {};
}

Index AddressSpace::add(const Mapping& mapping, const Target* process) {
  if (mapping.end <= mapping.start) return kNoIndex;
  Index module = modules_->add(mapping, process);
  if (program_ == kNoIndex && mapping.file) program_ = module;
  auto at = ranges_.upper_bound(mapping.start);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < mapping.end) {
    auto [start, range] = *at;
    if (range.end <= mapping.start) {
      ++at;
      continue;
    }
    if (start == mapping.start && range.end == mapping.end && range.module == module) {
      return module;
    }
    at = ranges_.erase(at);
    // What sticks out on either side stays what it was.
    if (start < mapping.start) ranges_.emplace(start, Range{mapping.start, range.module});
    if (range.end > mapping.end)
      at = ranges_.emplace(mapping.end, Range{range.end, range.module}).first;
  }
  ranges_.insert_or_assign(mapping.start, Range{mapping.end, module});
  ++epoch_;  // also where nothing was known before: an address there may have been met already
  return module;
}

Index AddressSpace::module_at(Address address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return kNoIndex;
  const auto& [start, range] = *std::prev(after);
  return address < range.end ? range.module : kNoIndex;
}

}  // namespace labelscope::cli
