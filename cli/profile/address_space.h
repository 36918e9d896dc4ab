// Which module an address of a process belongs to, also after the process has ended, or has mapped
// something else there.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/elf_image.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope::cli {

// The modules of a recording: one entry for each executable mapping of a file, shared by processes
// that mapped it at the same place, with the file kept open so that it can be symbolized after its
// process died.
class ModuleTable {
 public:
  // `process` may be null: the process is gone, and the file is opened by name if it is still the
  // same.
  Index add(const Mapping& mapping, const Target* process);
  Index kernel();

  const std::vector<ProfileModule>& modules() const { return modules_; }
  // Moves everything out; the table is empty afterwards.
  std::vector<ProfileModule> take_modules() { return std::move(modules_); }
  std::vector<ModuleFile> take_files() { return std::move(files_); }

 private:
  struct OpenFile {
    ModuleFile file;
    std::string build_id;
    std::string problem;
    std::vector<LoadSegment> segments;  // empty where it is no ELF file
  };
  const OpenFile& open(const Mapping& mapping, const Target* process);

  std::vector<ProfileModule> modules_;
  std::vector<ModuleFile> files_;  // parallel to modules_
  using Key = std::tuple<FileId, Address, Address, std::uint64_t, std::string>;
  std::map<Key, Index> known_;
  std::map<FileId, OpenFile> open_files_;
  Index kernel_ = kNoIndex;
};

// The executable mappings of one process, kept up to date while it runs.
class AddressSpace {
 public:
  explicit AddressSpace(ModuleTable& modules) : modules_(&modules) {}

  // Adds all executable mappings that the process has now. Those known before stay.
  Status load(const Target& process);
  // Adds one mapping that the kernel has announced; returns its module. `process` is null if it has
  // ended.
  Index add(const Mapping& mapping, const Target* process);
  void clear() {  // after exec
    ranges_.clear();
    program_ = kNoIndex;
  }

  // The module at a user address, or kNoIndex.
  Index module_at(Address address) const;
  // The module of the main program. If load() was never called, the module of the first file that
  // was mapped: the kernel maps the program before its interpreter. kNoIndex: not known.
  Index program() const { return program_; }
  // Changes when an address may mean something else than before. Then clear caches that have
  // addresses as keys.
  std::uint64_t epoch() const { return epoch_; }

 private:
  struct Range {
    Address end;
    Index module;
  };
  ModuleTable* modules_;
  std::map<Address, Range> ranges_;  // by start; they do not overlap
  Index program_ = kNoIndex;
  std::uint64_t epoch_ = 0;
};

}  // namespace labelscope::cli
