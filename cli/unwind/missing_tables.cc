#include "cli/unwind/missing_tables.h"

#include "cli/host/log.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"

namespace labelscope::cli {

void warn_of_missing_tables(const TableWorker::Failures& failures) {
  for (const std::string& file : failures.files) {
    log::warning("no stack leads through " + escape_terminal(file));
  }
  if (failures.more != 0) log::warning("and through " + with_thousands(failures.more) + " more");
}

}  // namespace labelscope::cli
