// Finds what is to be recorded: processes that run, or a command.
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
