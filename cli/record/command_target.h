// A command that labelscope starts to record it. It is forked, and waits until it may execute.
#pragma once

#include <memory>

#include "cli/host/signals.h"
#include "cli/options/session_options.h"
#include "cli/record/targets.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// Call it before anything is changed that a child inherits.
Result<std::unique_ptr<Targets>> start_command(const SessionOptions& options,
                                               const Signals& signals);

}  // namespace labelscope::cli
