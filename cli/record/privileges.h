// Checks what recording needs from the kernel before it is tried, so that the answer is one
// sentence.
#pragma once

#include <optional>
#include <string>

#include "cli/record/targets.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

struct MissingPrivileges {
  std::string names;    // "CAP_BPF, CAP_PERFMON"
  std::string message;  // several lines, which end with the ways to get what is missing
};

// Every refusal ends with one of these: the command that explains it.
std::string doctor_text(Pid pid);
// Names the process that was refused. Of a command none is left when labelscope gives up.
std::string doctor_text(const Targets& targets);

// nullopt if nothing is missing, as far as that can be known beforehand.
std::optional<MissingPrivileges> missing_for_bpf(const Targets& targets);
std::optional<MissingPrivileges> missing_for_ptrace(const Targets& targets);

}  // namespace labelscope::cli
