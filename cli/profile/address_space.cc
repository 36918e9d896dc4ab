// ModuleTable makes a module of a mapping, with its load bias, build ID and open file. AddressSpace
// is a map of ranges in which a new mapping replaces whatever it overlaps.
#include "cli/profile/address_space.h"

#include <algorithm>
#include <utility>

namespace labelscope::cli {
namespace {

// When a process is read for the first time, so many of its files are opened before they have
// samples. That mostly covers a program and all that it loads at its start.
constexpr std::size_t kMostReadyAtOnce = 64;

// Code that a process makes itself is in memory without a file, or in .NET in a file without a
// name.
bool may_be_generated(const Mapping& mapping) {
  if (mapping.file) return mapping.path.starts_with("/memfd:");
  return mapping.path != "[vdso]" && mapping.path != "[vsyscall]" && mapping.path != "[uprobes]";
}

}  // namespace

Index ModuleTable::add(const Mapping& mapping, const FindProcess& process, Family family,
                       Pid maker) {
  bool generated = may_be_generated(mapping);
  Key key{mapping.file,        mapping.start, mapping.end,
          mapping.file_offset, mapping.path,  generated ? maker : Pid{}};
  auto known = known_.find(key);
  if (known != known_.end()) return known->second;

  ProfileModule module;
  module.path = mapping.path.empty() ? "[anon]" : mapping.path;
  module.start = mapping.start;
  module.end = mapping.end;
  module.file_offset = mapping.file_offset;
  ModuleFile file;
  if (mapping.file) {
    const MappedFiles::File& opened = open_.take(mapping, process, family);
    module.kind = ProfileModule::Kind::kFile;
    module.build_id = opened.build_id;
    module.symbol_problem = opened.problem;
    file = opened.file;
    // If the file is not there, or if something other than an ELF loader has mapped it, addresses
    // count from the start of the file.
    module.load_bias = load_bias_at(opened.code, mapping.start, mapping.file_offset)
                           .value_or(mapping.start - mapping.file_offset);
    generated = generated && opened.code.empty();
  } else if (module.path == "[vdso]") {
    module.load_bias = mapping.start;
  }
  if (generated) {
    module.kind = ProfileModule::Kind::kUnknown;
    module.load_bias = 0;
    file.reset();
    if (maker != Pid{}) {
      generated_.emplace(static_cast<Index>(modules_.size()), maker);
      perf_maps_.note(maker);
    }
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

std::vector<ProfileModule> ModuleTable::take(std::vector<ModuleFile>& files) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    const bool given_up = files_[i] != nullptr && !files_[i]->valid();
    if (given_up) modules_[i].symbol_problem = open_.given_up_text();
  }
  for (const auto& [index, maker] : generated_) {
    PerfMaps::Found map = perf_maps_.find(maker);
    files_[index] = std::move(map.file);
    modules_[index].symbol_problem = std::move(map.problem);
  }
  files = std::move(files_);
  return std::move(modules_);
}

Status AddressSpace::load(const Target& process, Address sampled) {
  auto mappings = process.mappings();
  if (!mappings) return std::move(mappings).error();
  const FindProcess itself = [&] { return &process; };
  const auto headers = process.program_headers_address().value_or(0);
  const auto program =
      std::find_if(mappings->begin(), mappings->end(), [&](const Mapping& mapping) {
        return mapping.file && mapping.start <= headers && headers < mapping.end;
      });
  bool found = false;
  std::size_t ready = 0;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable) continue;
    std::shared_ptr<Region> region = note(mapping);
    const bool fresh = region->module == kNoIndex && mapping.file;
    if (fresh && ready < kMostReadyAtOnce) {
      ready += modules_->files().make_ready(mapping, itself) ? 1 : 0;
    }
    if (found || program == mappings->end() || mapping.file != program->file) continue;
    program_ = std::move(region);
    found = true;
  }
  // before its mapping is forgotten again
  if (sampled != 0) static_cast<void>(module_at(sampled, itself));
  if (ranges_.size() >= crowded_) forget_some(itself);
  return {};
}

void AddressSpace::add(const Mapping& mapping, const FindProcess& process) {
  if (mapping.end <= mapping.start) return;
  static_cast<void>(note(mapping));
  if (mapping.file) static_cast<void>(modules_->files().make_ready(mapping, process));
  if (ranges_.size() >= crowded_) forget_some(process);
}

std::shared_ptr<AddressSpace::Region> AddressSpace::note(const Mapping& mapping) {
  auto at = ranges_.upper_bound(mapping.start);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < mapping.end) {
    auto [start, range] = *at;
    if (range.end <= mapping.start) {
      ++at;
      continue;
    }
    const Mapping& old = range.region->mapping;
    if (start == mapping.start && range.end == mapping.end && old.start == start &&
        old.end == range.end && old.file == mapping.file &&
        old.file_offset == mapping.file_offset && old.path == mapping.path) {
      return range.region;
    }
    at = ranges_.erase(at);
    // The parts on either side keep their module.
    if (start < mapping.start) ranges_.emplace(start, Range{mapping.start, range.region});
    if (range.end > mapping.end)
      at = ranges_.emplace(mapping.end, Range{range.end, range.region}).first;
  }
  auto region = std::make_shared<Region>(Region{mapping, owner_});
  ranges_.insert_or_assign(mapping.start, Range{mapping.end, region});
  if (program_ == nullptr && mapping.file) program_ = region;
  ++epoch_;  // needed even if nothing was known here: an address here may have had a sample already
  return region;
}

// First forgets what is not mapped any more. If the rest is still too much, forgets any of it: if
// such a mapping has a sample, the mappings are read again.
void AddressSpace::forget_some(const FindProcess& find_process) {
  std::vector<Mapping> now;
  if (const Target* process = find_process ? find_process() : nullptr) {
    if (auto mappings = process->mappings()) now = *std::move(mappings);
  }
  for (const bool mapped_too : {false, true}) {
    std::size_t without = 0;
    std::erase_if(ranges_, [&](const auto& entry) {
      const Region& region = *entry.second.region;
      if (region.module != kNoIndex) return false;
      const Mapping* there = mapped_too ? nullptr : find_mapping(now, entry.first);
      const bool stays = mapped_too ? without < kMostWithoutSamples / 2
                                    : there != nullptr && there->file == region.mapping.file;
      if (stays) {
        ++without;
      } else {
        modules_->count_forgotten();
      }
      return !stays;
    });
    if (without <= kMostWithoutSamples / 2) break;
  }
  crowded_ = ranges_.size() + kMostWithoutSamples;
}

Index AddressSpace::module_of(Region& region, const FindProcess& process) {
  if (region.module == kNoIndex) {
    region.module = modules_->add(region.mapping, process, family_, region.maker);
  }
  return region.module;
}

Index AddressSpace::module_at(Address address, const FindProcess& process) {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return kNoIndex;
  const Range& range = std::prev(after)->second;
  return address < range.end ? module_of(*range.region, process) : kNoIndex;
}

Index AddressSpace::program(const FindProcess& process) {
  return program_ == nullptr ? kNoIndex : module_of(*program_, process);
}

}  // namespace labelscope::cli
