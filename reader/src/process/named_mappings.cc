#include "process/named_mappings.h"

#include "process/copied_text.h"
#include "process/maps_parser.h"

namespace labelscope {

Result<std::vector<Mapping>> listed_mappings(const LiveProcess& process) {
  std::size_t unnamed = 0;
  return read_maps(process.proc_path("maps"), [&](const Mapping& mapping) {
    if (mapping.file || !mapping.path.empty() || mapping.executable) return true;
    return mapping.readable && ++unnamed <= kMostUnnamed;
  });
}

Result<std::vector<Mapping>> named_mappings(const LiveProcess& process) {
  auto mappings = listed_mappings(process);
  // The thread that shows the process may have ended: mappings() finds another one.
  if (!mappings || mappings->empty()) return process.mappings();
  name_copied_text(process, *mappings);
  return mappings;
}

}  // namespace labelscope
