// Reports which files have no unwind table, and why; and how many tables an earlier recording has
// kept.
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

// `cache` is null if tables are not kept, and `why` is the reason. `is_named` is set if the user
// has named a folder for them.
inline void report_kept_tables(const TableCache* cache, const std::string& why, bool is_named) {
  if (cache == nullptr) {
    (is_named ? log::warning : log::verbose)("unwind tables are not kept for the next recording: " +
                                             escape_terminal(why));
    return;
  }
  for (const std::string& problem : cache->problems()) log::warning(escape_terminal(problem));
  log::verbose("  " + counted(cache->found(), "unwind table", "unwind tables") +
               " of an earlier recording from " + escape_terminal(cache->folder()));
}

}  // namespace labelscope::cli
