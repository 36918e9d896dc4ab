// What is mapped where in one process, kept up to date while it runs, so that an address can be
// told apart even after the process has ended or has mapped something else there.
#pragma once

#include <map>
#include <vector>

#include "cli/record/module_table.h"

namespace labelscope::cli {

class AddressSpace {
 public:
  explicit AddressSpace(ModuleTable& modules) : modules_(&modules) {}

  // All executable mappings that the process has now are added; what was known before stays.
  Status load(const Target& process);
  // One mapping, as the kernel announced it, and its module. `process` may be null (it has ended).
  Index add(const Mapping& mapping, const Target* process);
  void clear() {  // after exec
    ranges_.clear();
    program_ = kNoIndex;
  }

  // The module at a user address, or kNoIndex.
  Index module_at(Address address) const;
  // The module of the main program. Of a process that load() never saw it is the first file that
  // was mapped: the kernel maps the program before its interpreter. kNoIndex: nothing is known.
  Index program() const { return program_; }
  // Changes whenever an address may mean something else than before: caches keyed by addresses must
  // go.
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
