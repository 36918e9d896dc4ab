// AddressSpace: a map of ranges in which a new mapping replaces whatever it overlaps.
#include "cli/profile/address_space.h"

#include <algorithm>

namespace labelscope::cli {

Status AddressSpace::load(const Target& process) {
  auto mappings = process.mappings();
  if (!mappings) return std::move(mappings).error();
  const auto headers = process.program_headers_address().value_or(0);
  const auto program =
      std::find_if(mappings->begin(), mappings->end(), [&](const Mapping& mapping) {
        return mapping.file && mapping.start <= headers && headers < mapping.end;
      });
  bool found = false;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable) continue;
    const Index module = add(mapping, &process);
    if (found || program == mappings->end() || mapping.file != program->file) continue;
    program_ = module;
    found = true;
  }
  return {};
}

Index AddressSpace::add(const Mapping& mapping, const Target* process) {
  if (mapping.end <= mapping.start) return kNoIndex;
  Index module = modules_->add(mapping, process);
  if (program_ == kNoIndex && mapping.file) program_ = module;
  auto at = ranges_.upper_bound(mapping.start);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < mapping.end) {
    auto [start, range] = *at;
    if (range.end <= mapping.start) {
      ++at;
      continue;
    }
    if (start == mapping.start && range.end == mapping.end && range.module == module) {
      return module;
    }
    at = ranges_.erase(at);
    // What sticks out on either side stays what it was.
    if (start < mapping.start) ranges_.emplace(start, Range{mapping.start, range.module});
    if (range.end > mapping.end)
      at = ranges_.emplace(mapping.end, Range{range.end, range.module}).first;
  }
  ranges_.insert_or_assign(mapping.start, Range{mapping.end, module});
  ++epoch_;  // also where nothing was known before: an address there may have been met already
  return module;
}

Index AddressSpace::module_at(Address address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return kNoIndex;
  const auto& [start, range] = *std::prev(after);
  return address < range.end ? range.module : kNoIndex;
}

}  // namespace labelscope::cli
