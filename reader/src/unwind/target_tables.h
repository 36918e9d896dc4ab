// TargetTables has the executable mappings of a target, and the unwind tables of their files.
// Programs map many files through which no stack ever leads, so a table is made when the first
// stack does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/target.h"
#include "unwind/walk.h"
#include "unwind_table/build_unwind_table.h"

namespace labelscope {

class TargetTables {
 public:
  using Table = std::shared_ptr<const UnwindTable>;
  // A table is null if its file cannot be used.
  using Files = std::map<FileId, Table>;

  // `files` is shared by processes that run the same files, and is used on one thread.
  TargetTables(std::shared_ptr<Files> files, BuildUnwindTable build)
      : files_(std::move(files)), build_(std::move(build)) {}

  // Loads everything that is mapped now, with the tables that are there already.
  Status load(const Target& target);
  // Sets where the walk finds mappings and tables. Files of another processor have no table.
  void give(ls_stack_walk& walk, Machine machine) const;
  // Notes that a walk has ended in the mapping that starts there, for want of a table.
  void want(Address start);
  // Notes the mapping that has this address, if any has.
  void expect(Address address);
  bool wants() const { return !wanted_.empty(); }
  // Returns why the mapping that starts there has no table, as far as its file is not available and
  // its memory could not be copied.
  std::string problem_at(Address start) const;
  // Makes the tables that are wanted, as far as possible. It is slow.
  void make(const Target& target);
  const std::shared_ptr<Files>& files() const { return files_; }

 private:
  // The properties of a mapping that mappings_ does not have.
  struct Place {
    Mapping mapping;
    std::optional<Address> module;  // where the module begins in memory
    bool tried = false;             // true if its table is there, or cannot be made
    std::string problem{};          // why its memory could not be copied
  };
  using MemoryKey = std::pair<Address, FileId>;  // where the module begins
  using Modules = std::map<MemoryKey, Table>;

  bool has_room() const;
  Address code_mask() const;
  Table build(UniqueFd file);
  Table from_file(const Target& target, const Mapping& mapping);
  Table from_memory(const Target& target, Place& place);
  void settle(const Target& target, std::size_t index, const Table& table);

  std::shared_ptr<Files> files_;
  BuildUnwindTable build_;
  Modules from_memory_;
  std::vector<ls_unwind_mapping> mappings_;  // sorted
  std::vector<Place> places_;                // of these
  std::vector<std::size_t> wanted_;          // of these, too
  std::vector<Table> tables_;                // the tables to which mappings_ refer
  std::vector<ls_walk_table> views_;         // of these
  std::chrono::steady_clock::duration spent_{0};
  std::uint64_t copied_ = 0;  // bytes
};

}  // namespace labelscope
