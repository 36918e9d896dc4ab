#include "cli/record/targets.h"

#include <string_view>
#include <utility>

#include "cli/process/frozen_group.h"
#include "cli/text/escape.h"
#include "labelscope/stopped_thread.h"
#include "labelscope/target.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// Explains why this process stands still; empty if it does not.
std::string standstill_of(Pid pid) {
  const auto process = LiveProcess::open(pid);
  if (!process) return {};
  const auto status = (*process)->read_proc("status");
  if (!status) return {};
  const std::string_view state = status_field(*status, "State");
  const std::string name = "process " + std::to_string(raw(pid));
  if (state.starts_with('T')) {
    return name + " is stopped (SIGSTOP, or Ctrl-Z): kill -CONT " + std::to_string(raw(pid)) +
           " lets it go on";
  }
  if (!state.starts_with('t')) {
    const auto frozen = frozen_group_of(pid);
    return frozen ? name + " is frozen: " + escape_terminal(frozen->reason()) : std::string();
  }
  const std::string_view tracer = status_field(*status, "TracerPid");
  return name + " is held by its tracer" +
         (tracer.empty() || tracer == "0" ? std::string()
                                          : ", process " + escape_terminal(tracer)) +
         ": let it go on there";
}

}  // namespace

// If ptrace was refused, its own answer is the reason. If BPF samples, ptrace still has the reason,
// because the kernel shows memory of the same processes to both.
Error why_not_added(Pid pid, Error error, Backend backend) {
  if (error.code == ErrorCode::kPermission && backend == Backend::kBpf) {
    error = StoppedThread::refusal(Tid{raw(pid)}, std::move(error));
  }
  return {error.code, escape_terminal(error.context)};
}

std::string base_name_of(std::string_view program, Pid pid) {
  return escape_file_name(program) + "-" + std::to_string(raw(pid));
}

std::string Targets::standstill() const {
  for (Pid pid : first_) {
    if (std::string held = standstill_of(pid); !held.empty()) return held;
  }
  return {};
}

}  // namespace labelscope::cli
