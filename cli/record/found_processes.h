// Finds what is to be recorded: a command (command_target.h), or processes that run and that the
// user has named, by ID or by words that find them.
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

#include "cli/host/signals.h"
#include "cli/options/session_options.h"
#include "cli/process/find_processes.h"
#include "cli/record/targets.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Finds the targets that the options name, or waits for them. A command is forked here, so call it
// before changing anything that a child inherits. Fails with kVanished or kNotFound if there is no
// such process. `say` takes a line for the user before it waits.
Result<std::unique_ptr<Targets>> find_targets(const SessionOptions& options, Signals& signals,
                                              const Say& say);

}  // namespace labelscope::cli
