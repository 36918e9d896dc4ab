// The processes that run and that the user has named: by ID, or by words that find them.
//
//   found by           ends before it is added         may not be looked at
//   -------------------------------------------------------------------------------------------
//   its ID             an error                        an error
//   a word             left out, and named             left out, and named; an error if all are
//   --wait-for         labelscope waits for the next   the same
//
// A process that is found is not opened before the sampler is, and that takes a part of a second.
// So a process that is just ending is met often by --wait-for, which finds the first one that there
// is.
#pragma once

#include <memory>

#include "cli/process/find_processes.h"
#include "cli/record/targets.h"

namespace labelscope::cli {

// Finds the processes that the options name, or waits for them.
Result<std::unique_ptr<Targets>> open_found_processes(const SessionOptions& options,
                                                      Signals& signals, const Say& say);

}  // namespace labelscope::cli
