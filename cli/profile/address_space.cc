// ModuleTable makes a module of a mapping, with its load bias, build ID and open file. AddressSpace
// is a map of ranges in which a new mapping replaces whatever it overlaps.
#include "cli/profile/address_space.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "cli/profile/used_part.h"
#include "process/main_program.h"
#include "process/one_look.h"

namespace labelscope::cli {
namespace {

// When a process is read for the first time, so many of its files are opened before they have
// samples. That mostly covers a program and all that it loads at its start.
constexpr std::size_t kMostReadyAtOnce = 64;

// What the kernel puts behind the path of a file that has no name any more.
constexpr std::string_view kDeleted = " (deleted)";
// Memory that processes share has these paths in the kernel's list: memfd_create(2), mmap(2) with
// MAP_SHARED or MAP_HUGETLB and without a file, shmget(2), shm_open(3), and files of hugetlbfs.
constexpr std::string_view kMemory[] = {"/memfd:", "/dev/zero", "/anon_hugepage",
                                        "/SYSV",   "/dev/shm/", "/dev/hugepages/"};

bool is_memory(const std::string& path) {
  return std::ranges::any_of(kMemory,
                             [&](std::string_view prefix) { return path.starts_with(prefix); });
}

// Code that a process makes itself lies in memory without a file, or with one that is not known to
// others: a file in memory, or without a name. Whether that is an ELF file after all is seen when
// it is opened.
bool may_be_generated(const Mapping& mapping) {
  if (mapping.file) return is_memory(mapping.path) || mapping.path.ends_with(kDeleted);
  return mapping.path != "[vdso]" && mapping.path != "[vsyscall]" && mapping.path != "[uprobes]";
}

}  // namespace

Index ModuleTable::add(const Mapping& mapping, const FindProcess& process, Family family, Pid maker,
                       const FileState& mapped) {
  bool generated = may_be_generated(mapping);
  Key key{mapping.file,        mapping.start,    mapping.end,
          mapping.file_offset, mapping.path,     generated ? maker : Pid{},
          mapped.changed_s,    mapped.changed_ns};
  auto known = known_.find(key);
  if (known != known_.end()) return known->second;

  ProfileModule module;
  module.path = mapping.path.empty() ? "[anon]" : mapping.path;
  if (mapping.file && module.path.ends_with(kDeleted)) {
    module.path.resize(module.path.size() - kDeleted.size());
  }
  module.start = mapping.start;
  module.end = mapping.end;
  module.file_offset = mapping.file_offset;
  ModuleFile file;
  FileState state;
  if (mapping.file) {
    const MappedFiles::File& opened = open_.take(mapping, mapped, process, family);
    state = opened.state;
    module.kind = ProfileModule::Kind::kFile;
    module.build_id = opened.build_id;
    module.symbol_problem = opened.problem;
    file = opened.file;
    // If the file is not there, or if something other than an ELF loader has mapped it, addresses
    // count from the start of the file.
    module.load_bias = load_bias_at(opened.code, mapping.start, mapping.file_offset)
                           .value_or(mapping.start - mapping.file_offset);
    // A program that was replaced on the disk and cannot be opened has made no code.
    generated = generated && !opened.is_elf && (opened.file != nullptr || is_memory(mapping.path));
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
  states_.push_back(state);
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
    states_.emplace_back();
  }
  return kernel_;
}

// Finds out what a module's file is worth now: it may have been written anew since it was mapped.
void ModuleTable::settle(Index index, ProfileModule& module, ModuleFile& file) {
  const bool given_up = file != nullptr && !file->valid();
  if (given_up) module.symbol_problem = open_.given_up_text();
  if (leaves_files_) return;
  if (file != nullptr && !given_up && states_[index].is_outdated(*file)) {
    file.reset();
    module.symbol_problem = "the file was written anew since this code was mapped";
  }
  const auto generated = generated_.find(index);
  if (generated == generated_.end()) return;
  PerfMaps::MapFile map = perf_maps_.find(generated->second);
  file = std::move(map.file);
  module.symbol_problem = std::move(map.problem);
  module.first_map_bytes = map.first_bytes;
}

std::vector<ProfileModule> ModuleTable::take(std::vector<ModuleFile>& files) {
  for (Index i = 0; i < modules_.size(); ++i) settle(i, modules_[i], files_[i]);
  files = std::move(files_);
  return std::move(modules_);
}

std::vector<ProfileModule> ModuleTable::copy(std::vector<ModuleFile>& files) {
  std::vector<ProfileModule> modules = modules_;
  files = files_;
  for (Index i = 0; i < modules.size(); ++i) settle(i, modules[i], files[i]);
  return modules;
}

void ModuleTable::keep(const std::vector<Index>& numbers) {
  keep_numbered(modules_, numbers);
  keep_numbered(files_, numbers);
  keep_numbered(states_, numbers);
  for (auto entry = known_.begin(); entry != known_.end();) {
    entry->second = Renumbering::of(numbers, entry->second);
    entry = entry->second == kNoIndex ? known_.erase(entry) : std::next(entry);
  }
  std::map<Index, Pid> generated;
  std::set<Pid> makers;
  for (const auto& [index, maker] : generated_) {
    const Index number = Renumbering::of(numbers, index);
    if (number == kNoIndex) continue;
    generated.emplace(number, maker);
    makers.insert(maker);
  }
  perf_maps_.keep(makers);
  open_.forget_unused();
  generated_ = std::move(generated);
  kernel_ = Renumbering::of(numbers, kernel_);
}

Status AddressSpace::load(const Target& process, Address sampled, std::uint64_t since_ns) {
  Seen seen{since_ns, 0, gap_count_};
  const MappingsOf mappings(process);
  if (!mappings) return mappings.error();
  seen.listed_ns = monotonic_ns();
  const FindProcess itself = [&] { return &process; };
  const auto headers = main_program_headers(process, *mappings);
  const Mapping* program = headers ? find_mapping(*mappings, *headers) : nullptr;
  bool found = false;
  std::size_t ready = 0;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable) continue;
    if (is_known_otherwise(mapping)) {
      FileState file;
      if (mapping.file) file = modules_->files().make_ready(mapping, itself).state;
      await(seen, mapping, file);
      continue;
    }
    std::shared_ptr<Region> region = note(mapping, {}, seen);
    const bool fresh = region->module == kNoIndex && mapping.file && !region->file;
    if (fresh && ready < kMostReadyAtOnce) {
      const MappedFiles::Ready file = modules_->files().make_ready(mapping, itself);
      region->file = file.state;
      ready += file.opened ? 1 : 0;
    }
    if (found || program == nullptr || !mapping.file || mapping.file != program->file) continue;
    program_ = std::move(region);
    found = true;
  }
  if (has_open_gap()) gaps_.back().until_ns = seen.listed_ns;
  if (coming_.size() > kMostWithoutSamples) take_coming(seen.listed_ns);
  // before its mapping is forgotten again
  if (sampled != 0) static_cast<void>(module_at(sampled, itself));
  if (ranges_.size() >= crowded_) forget_some(itself);
  return {};
}

void AddressSpace::add(const Mapping& mapping, const FindProcess& process, std::uint64_t time_ns) {
  if (mapping.end <= mapping.start) return;
  // What comes without a time was found after all lists that were read.
  take_coming(time_ns != 0 ? time_ns : UINT64_MAX);
  // It was made while the list was read, and what else the list has around it was there.
  for (auto next = coming_.begin(); next != coming_.end();) {
    const auto coming = next++;
    const auto& [seen, listed, listed_file] = coming->second;
    if (seen.time_ns <= time_ns && listed.start < mapping.end && mapping.start < listed.end)
      take(coming);
  }
  FileState file;
  if (mapping.file) file = modules_->files().make_ready(mapping, process).state;
  static_cast<void>(note(mapping, file, {time_ns}));
  if (coming_.size() > kMostWithoutSamples) take_coming(kOpen);
  if (ranges_.size() >= crowded_) forget_some(process);
}

AddressSpace::Ranges::iterator AddressSpace::first_over(const Mapping& mapping) {
  auto at = ranges_.upper_bound(mapping.start);
  if (at == ranges_.begin()) return at;
  const auto before = std::prev(at);
  return before->second.end > mapping.start ? before : at;
}

bool AddressSpace::is_of(const Ranges::value_type& entry, const Mapping& mapping,
                         const FileState& file) {
  const auto& [start, range] = entry;
  const Region& region = *range.region;
  const Mapping& known = region.mapping;
  return start == mapping.start && range.end == mapping.end && known.start == start &&
         known.end == range.end && known.file == mapping.file &&
         known.file_offset == mapping.file_offset && known.path == mapping.path &&
         (!file || !region.file || file.has_bytes_of(region.file));
}

bool AddressSpace::is_known_otherwise(const Mapping& mapping) {
  const auto at = first_over(mapping);
  return at != ranges_.end() && at->first < mapping.end && !is_of(*at, mapping, {});
}

void AddressSpace::await(const Seen& seen, const Mapping& mapping, const FileState& file) {
  // Several parts of one mapping may have made place for others.
  const auto behind = coming_.upper_bound(seen.listed_ns);
  if (behind != coming_.begin()) {
    const auto& [listed_ns, last] = *std::prev(behind);
    if (listed_ns == seen.listed_ns && last.mapping.start == mapping.start) return;
  }
  coming_.emplace_hint(behind, seen.listed_ns, Coming{seen, mapping, file});
}

void AddressSpace::take(AllComing::iterator coming) {
  const auto taken = coming_.extract(coming);
  const Coming& listed = taken.mapped();
  static_cast<void>(note(listed.mapping, listed.file, listed.seen));
}

// What a list puts in the place of what a later list has brings that back, in turn.
void AddressSpace::take_coming(std::uint64_t time_ns) {
  while (!coming_.empty() && coming_.begin()->first <= time_ns) take(coming_.begin());
}

void AddressSpace::set_owner(Pid child) {
  owner_ = child;
  // Lists that were read behind the fork are the parent's.
  coming_.clear();
  for (auto& [start, range] : ranges_) range.listed_ns = 0;
}

// A report may be of what the list has shown already: then it is not later than that.
std::shared_ptr<AddressSpace::Region> AddressSpace::note(const Mapping& mapping,
                                                         const FileState& file, const Seen& seen) {
  const bool is_listed = seen.listed_ns != 0;
  bool changes = false;
  auto at = first_over(mapping);
  while (at != ranges_.end() && at->first < mapping.end) {
    if (is_of(*at, mapping, file)) {
      Range& same = at->second;
      same.changes |= !is_listed && seen.time_ns > same.seen_ns;
      same.seen_ns = std::max(same.seen_ns, seen.time_ns);
      same.listed_ns = std::max(same.listed_ns, seen.listed_ns);
      if (is_listed) same.read_behind_gap = std::max(same.read_behind_gap, seen.gap);
      return same.region;
    }
    auto [start, range] = *at;
    changes = true;
    // A list that has it was read after something else was here.
    const bool is_later = range.listed_ns != 0 && seen.time_ns < range.seen_ns;
    if (is_later && seen.time_ns != 0) {
      const Region& listed = *range.region;
      await({range.seen_ns, range.listed_ns, range.read_behind_gap}, listed.mapping, listed.file);
    }
    at = ranges_.erase(at);
    // The parts on either side keep their module.
    const Address end = std::exchange(range.end, mapping.start);
    if (start < mapping.start) ranges_.emplace(start, range);
    range.end = end;
    if (end > mapping.end) at = ranges_.emplace(mapping.end, range).first;
  }
  auto region = std::make_shared<Region>(Region{mapping, owner_, file});
  ranges_.insert_or_assign(
      mapping.start, Range{mapping.end, region, seen.time_ns, seen.listed_ns, gap_count_,
                           is_listed ? seen.gap : gap_count_, changes});
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

void AddressSpace::note_gap(std::uint64_t since_ns) {
  if (has_open_gap()) return;
  if (gaps_.size() == kMostGaps) {
    gaps_[1].since_ns = std::min(gaps_[0].since_ns, gaps_[1].since_ns);
    gaps_[1].first = gaps_[0].first;
    gaps_.erase(gaps_.begin());
  }
  ++gap_count_;
  gaps_.push_back({since_ns, kOpen, gap_count_, gap_count_});
}

void AddressSpace::look_up_at(std::uint64_t time_ns) {
  take_coming(time_ns);
  if (gaps_.empty()) return;
  Gap within{};
  for (const Gap& gap : gaps_) {
    if (time_ns < gap.since_ns || time_ns > gap.until_ns) continue;
    if (within.first == 0) within.first = gap.first;
    within.last = gap.last;
  }
  if (within.first == within_.first && within.last == within_.last) return;
  within_ = within;
  ++epoch_;
}

bool AddressSpace::is_certain(const Range& range) const {
  return within_.first == 0 || (!range.changes && range.behind_gap < within_.first &&
                                range.read_behind_gap >= within_.last);
}

Index AddressSpace::module_of(Region& region, const FindProcess& process) {
  if (region.module == kNoIndex) {
    region.module = modules_->add(region.mapping, process, family_, region.maker, region.file);
  }
  return region.module;
}

Index AddressSpace::module_at(Address address, const FindProcess& process) {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return kNoIndex;
  const Range& range = std::prev(after)->second;
  if (address >= range.end) return kNoIndex;
  return is_certain(range) ? module_of(*range.region, process) : kUnknownModule;
}

bool AddressSpace::maps_file(std::string_view part) const {
  return std::ranges::any_of(ranges_, [&](const auto& entry) {
    const Mapping& mapping = entry.second.region->mapping;
    return mapping.file && mapping.path.find(part) != std::string::npos;
  });
}

Index AddressSpace::program(const FindProcess& process) {
  return program_ == nullptr ? kNoIndex : module_of(*program_, process);
}

void AddressSpace::renumber(const std::vector<Index>& numbers, std::set<const void*>& done) {
  const auto change = [&](const std::shared_ptr<Region>& region) {
    // Without a module it gets one again with its next sample.
    if (region && done.insert(region.get()).second)
      region->module = Renumbering::of(numbers, region->module);
  };
  for (const auto& [start, range] : ranges_) change(range.region);
  change(program_);
}

}  // namespace labelscope::cli
