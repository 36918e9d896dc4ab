// The executable mappings of one process, kept up to date while it runs. So the module of an
// address is still known after the process has ended, or has mapped something else there.
#pragma once

#include <map>
#include <vector>

#include "cli/profile/module_table.h"

namespace labelscope::cli {

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
