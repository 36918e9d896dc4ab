// Reports which files have no unwind table, and why.
#pragma once

#include "cli/unwind/table_worker.h"

namespace labelscope::cli {

void warn_of_missing_tables(const TableWorker::Failures& failures);

}  // namespace labelscope::cli
