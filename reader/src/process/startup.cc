// This finds out which files were there from the start, and which came later by dlopen().
//
// The loader's list has no mark for that. But it only grows at its end, and the loader begins it
// with all that the program starts with: the main executable, the preloaded files, what these need
// (DT_NEEDED), what those need, and so on.
//
//   main | preloaded | libA | libB | libc | plugin | libP
//   <------- there from the start ------->  <--- later --->
//
// Where is the border? Two rules find it, applied until they mark nothing new:
//   - What a file from the start needs was there from the start.
//   - What stands before a file from the start was there from the start.
// All other files came later.
#include "process/startup.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "elf/elf_image.h"
#include "elf/loader_names.h"
#include "process/link_map.h"
#include "process/main_program.h"
#include "process/modules.h"

namespace labelscope {
namespace {

// Reads the names of files, each file once.
class NameReader {
 public:
  // Returns null if the file contradicts itself, or if all files have more names than they may.
  const LoaderNames* names_of(const Module& module) {
    const auto [known, fresh] = names_.try_emplace(module.file);
    if (fresh) known->second = read_loader_names(*module.image, left_);
    return known->second ? &*known->second : nullptr;
  }

 private:
  std::map<FileId, std::optional<LoaderNames>> names_;
  LoaderNameBudget left_;
};

// One entry of the loader's list.
struct Entry {
  const Module* module = nullptr;      // null if it has no file (the kernel's own object)
  std::string path;                    // the loader's name for it
  const LoaderNames* names = nullptr;  // null if it has no file
  bool at_start = false;
  bool asked = false;  // true if the files that it needs are marked
};

class StartupSearch {
 public:
  explicit StartupSearch(std::vector<Entry> entries) : entries_(std::move(entries)) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.names != nullptr) by_name_.try_emplace(entry.names->own, i);
      by_name_.try_emplace(entry.path, i);
      by_base_name_.try_emplace(std::string(base_name(entry.path)), i);
      if (entry.module == nullptr) continue;
      by_base_name_.try_emplace(std::string(base_name(entry.module->path)), i);
    }
  }

  // Returns false if a needed file is not in the list, so that the border is not known.
  bool mark() {
    entries_.front().at_start = true;
    for (bool again = true; again;) {
      again = false;
      const auto last = std::find_if(entries_.rbegin(), entries_.rend(),
                                     [](const Entry& entry) { return entry.at_start; });
      for (auto entry = last; entry != entries_.rend(); ++entry) {
        entry->at_start = true;
        if (entry->asked) continue;
        entry->asked = again = true;
        if (!mark_needed_by(*entry)) return false;
      }
    }
    return true;
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  bool mark_needed_by(const Entry& entry) {
    if (entry.names == nullptr) return true;
    for (const std::string& name : entry.names->needed) {
      if (!mark_called(name)) return false;
    }
    for (const std::string& name : entry.names->wished) mark_called(name);
    return true;
  }
  // Marks the first one that is called so.
  bool mark_called(const std::string& name) {
    const auto whole = by_name_.find(name);
    const auto base = by_base_name_.find(std::string(base_name(name)));
    std::size_t first = entries_.size();
    if (whole != by_name_.end()) first = whole->second;
    if (base != by_base_name_.end()) first = std::min(first, base->second);
    if (first == entries_.size()) return false;
    entries_[first].at_start = true;
    return true;
  }

  std::vector<Entry> entries_;
  // The first entry that has this name.
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::string, std::size_t> by_base_name_;
};

const Module* find_main_executable(const ModuleList& list,
                                   const std::optional<Address>& headers) {
  const auto main = std::ranges::find_if(
      list.modules, [&](const Module& module) { return is_main_executable(module, headers); });
  return main == list.modules.end() ? nullptr : &*main;
}

// Returns nothing if there is no list, or if it is not reliable. The entries refer to `list` and to
// `names`.
std::vector<Entry> list_entries(const ModuleList& list, const Target& target,
                                const std::optional<Address>& headers, NameReader& names) {
  const Module* main = find_main_executable(list, headers);
  if (main == nullptr || !main->image->dynamic_address()) return {};
  const Address dynamic = main->load_bias + *main->image->dynamic_address();
  const LinkMap map = read_link_map(target.memory(), dynamic);
  if (!map.complete || !map.consistent) return {};
  if (map.links.empty() || map.links.front().dynamic != dynamic) return {};
  std::unordered_map<Address, const Module*> by_dynamic;
  for (const Module& module : list.modules) {
    const auto own = module.image->dynamic_address();
    if (own) by_dynamic[module.load_bias + *own] = &module;
  }
  std::vector<Entry> entries;
  std::set<const Module*> seen;
  for (const LoadedLink& link : map.links) {
    Entry entry;
    entry.path = target_text(target.memory(), link.name);
    const auto module = by_dynamic.find(link.dynamic);
    if (module != by_dynamic.end()) {
      entry.module = module->second;
      if (!seen.insert(entry.module).second) return {};
      entry.names = names.names_of(*entry.module);
      if (entry.names == nullptr) return {};
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::optional<std::set<FileId>> files_loaded_later(const Target& target) {
  auto mappings = target.mappings();
  if (!mappings) return std::nullopt;
  const ModuleList list = list_modules(target, *mappings, [](const Mapping&) { return true; });
  NameReader names;
  const auto headers = main_program_headers(target, *mappings);
  std::vector<Entry> entries = list_entries(list, target, headers, names);
  if (entries.empty()) return std::nullopt;
  StartupSearch search(std::move(entries));
  if (!search.mark()) return std::nullopt;
  std::set<FileId> later;
  for (const Entry& entry : search.entries()) {
    if (!entry.at_start && entry.module != nullptr) later.insert(entry.module->file);
  }
  for (const Entry& entry : search.entries()) {
    if (entry.at_start && entry.module != nullptr) later.erase(entry.module->file);
  }
  return later;
}

}  // namespace labelscope
