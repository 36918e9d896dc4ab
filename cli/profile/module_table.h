// The modules of a recording: one entry for each executable mapping of a file, shared by processes
// that mapped it at the same place, with the file kept open so that it can be symbolized after its
// process died.
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

}  // namespace labelscope::cli
