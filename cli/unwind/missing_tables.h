// Reports which files have no unwind table, and why.
#pragma once

#include <string>

#include "cli/host/log.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "cli/unwind/table_worker.h"

namespace labelscope::cli {

inline void warn_of_missing_tables(const TableWorker::Failures& failures) {
  for (const std::string& file : failures.files) {
    log::warning("no stack leads through " + escape_terminal(file));
  }
  if (failures.more != 0) log::warning("and through " + with_thousands(failures.more) + " more");
}

}  // namespace labelscope::cli
