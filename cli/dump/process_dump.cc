#include "cli/dump/process_dump.h"

#include "cli/format/row_labels.h"

namespace labelscope::cli {

std::string publisher_name(const ProcessDump& dump, std::size_t publisher) {
  Process process;
  for (const Publisher& each : dump.snapshot.plan.publishers)
    process.publishers.push_back(each.path);
  return RowLabels::publisher_name(&process, static_cast<std::uint8_t>(publisher));
}

}  // namespace labelscope::cli
