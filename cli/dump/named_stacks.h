// The stacks of a dump, taken apart into modules and locations and given names.
#pragma once

#include "cli/dump/process_dump.h"
#include "cli/profile/address_space.h"
#include "cli/symbol/symbolizer.h"

namespace labelscope::cli {

class StackNamer {
 public:
  // What is mapped now, and its files, kept open: called before the threads are read, and after.
  // What cannot be had now only leaves addresses without names.
  void look_at(const Target& target);
  // Once, after the threads were read.
  NamedStacks name(const std::vector<ThreadSnapshot>& threads, const SymbolizerOptions& options);

 private:
  Index location_at(Profile& profile, Address address);

  ModuleTable modules_;
  AddressSpace space_{modules_};
  std::map<Address, Index> locations_;
};

}  // namespace labelscope::cli
