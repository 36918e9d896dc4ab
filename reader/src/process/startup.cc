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
//
// The names in DT_NEEDED are read from the files. In memory the loader may have relocated the
// addresses of these tables or not, depending on the libc.
#include "process/startup.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "elf/elf_image.h"
#include "process/link_map.h"
#include "process/modules.h"

namespace labelscope {
namespace {

// Real files have some thirty.
constexpr std::size_t kMaxDynamicEntries = 1024;
constexpr std::size_t kMaxName = 4096;

// The names in a file's dynamic section.
struct LoaderNames {
  std::string own;                  // DT_SONAME; empty if it has none
  std::vector<std::string> needed;  // DT_NEEDED
  std::vector<std::string> wished;  // DT_FILTER, DT_AUXILIARY: the loader does not require these
};

std::optional<std::string> read_name(const ElfImage& image, std::uint64_t address) {
  std::string name;
  char letter = 0;
  while (name.size() < kMaxName) {
    if (!image.read(address + name.size(), std::as_writable_bytes(std::span(&letter, 1)))) {
      return std::nullopt;
    }
    if (letter == '\0') return name;
    name += letter;
  }
  return std::nullopt;
}

// Returns nullopt if the file contradicts itself.
std::optional<LoaderNames> read_names(const ElfImage& image) {
  LoaderNames names;
  if (!image.dynamic_address()) return names;
  std::vector<Elf64_Dyn> entries;
  std::uint64_t strings = 0;
  for (std::uint64_t at = *image.dynamic_address(); entries.size() < kMaxDynamicEntries;
       at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (!image.read(at, std::as_writable_bytes(std::span(&entry, 1)))) return std::nullopt;
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    entries.push_back(entry);
  }
  for (const Elf64_Dyn& entry : entries) {
    const bool needed = entry.d_tag == DT_NEEDED;
    const bool wished = entry.d_tag == DT_FILTER || entry.d_tag == DT_AUXILIARY;
    if (!needed && !wished && entry.d_tag != DT_SONAME) continue;
    auto name = read_name(image, strings + entry.d_un.d_val);
    if (!name) return std::nullopt;
    if (entry.d_tag == DT_SONAME) {
      names.own = *std::move(name);
    } else {
      (needed ? names.needed : names.wished).push_back(*std::move(name));
    }
  }
  return names;
}

// One entry of the loader's list.
struct Entry {
  const Module* module = nullptr;  // null if it has no file (the kernel's own object)
  std::string path;                // the loader's name for it
  LoaderNames names;
  bool at_start = false;
  bool asked = false;  // true if the files that it needs are marked

  bool called(const std::string& name) const {
    if (name == names.own || name == path) return true;
    if (base_name(name) == base_name(path)) return true;
    return module != nullptr && base_name(name) == base_name(module->path);
  }
};

class StartupSearch {
 public:
  explicit StartupSearch(std::vector<Entry> entries) : entries_(std::move(entries)) {}

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
    for (const std::string& name : entry.names.needed) {
      if (!mark_called(name)) return false;
    }
    for (const std::string& name : entry.names.wished) mark_called(name);
    return true;
  }
  bool mark_called(const std::string& name) {
    const auto found =
        std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.called(name); });
    if (found == entries_.end()) return false;
    found->at_start = true;
    return true;
  }

  std::vector<Entry> entries_;
};

const Module* find_main_executable(const ModuleList& list, const Target& target) {
  const auto headers = target.program_headers_address();
  const auto main = std::ranges::find_if(
      list.modules, [&](const Module& module) { return is_main_executable(module, headers); });
  return main == list.modules.end() ? nullptr : &*main;
}

// Returns nothing if there is no list, or if it is not reliable.
std::vector<Entry> list_entries(const ModuleList& list, const Target& target) {
  const Module* main = find_main_executable(list, target);
  if (main == nullptr || !main->image->dynamic_address()) return {};
  const Address dynamic = main->load_bias + *main->image->dynamic_address();
  const LinkMap map = read_link_map(target.memory(), dynamic);
  if (!map.complete || !map.consistent) return {};
  if (map.links.empty() || map.links.front().dynamic != dynamic) return {};
  std::vector<Entry> entries;
  std::set<const Module*> seen;
  for (const LoadedLink& link : map.links) {
    Entry entry;
    entry.path = target_text(target.memory(), link.name);
    for (const Module& module : list.modules) {
      const auto own = module.image->dynamic_address();
      if (own && module.load_bias + *own == link.dynamic) entry.module = &module;
    }
    if (entry.module != nullptr) {
      if (!seen.insert(entry.module).second) return {};
      auto names = read_names(*entry.module->image);
      if (!names) return {};
      entry.names = *std::move(names);
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
  std::vector<Entry> entries = list_entries(list, target);
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
