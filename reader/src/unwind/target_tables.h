// The executable mappings of a target, each with the unwind table of its file. Made before any
// thread is held.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "labelscope/target.h"
#include "unwind/walk.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

class TargetTables {
 public:
  using Table = std::shared_ptr<const UnwindTable>;
  // Null where a file cannot be used.
  using Files = std::map<FileId, Table>;

  // `files` is shared by processes that run the same files, and used on one thread.
  TargetTables(std::shared_ptr<Files> files, BuildUnwindTable build)
      : files_(std::move(files)), build_(std::move(build)) {}

  // Everything that is mapped now.
  Status load(const Target& target);
  // Sets where the walk finds mappings and tables. Files of another processor have no table.
  void give(ls_walk& walk, Machine machine) const;
  const std::shared_ptr<Files>& files() const { return files_; }

 private:
  using MemoryKey = std::pair<Address, FileId>;  // where the module begins
  using Modules = std::map<MemoryKey, Table>;

  bool has_room() const;
  Table build(UniqueFd file);
  Table from_file(const Target& target, const Mapping& mapping);
  Table from_memory(const Target& target, const Mapping& first, const Modules& before);

  std::shared_ptr<Files> files_;
  BuildUnwindTable build_;
  Modules from_memory_;
  std::vector<ls_unwind_mapping> mappings_;  // sorted
  std::vector<Table> tables_;                // that mappings_ name
  std::vector<ls_walk_table> views_;         // of these
  std::chrono::steady_clock::time_point late_;
};

}  // namespace labelscope
