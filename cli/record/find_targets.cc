#include "cli/record/find_targets.h"

#include "cli/record/command_target.h"
#include "cli/record/found_processes.h"

namespace labelscope::cli {

Result<std::unique_ptr<Targets>> find_targets(const SessionOptions& options, Signals& signals,
                                              const Say& say) {
  return options.command.empty() ? open_found_processes(options, signals, say)
                                 : start_command(options, signals);
}

}  // namespace labelscope::cli
