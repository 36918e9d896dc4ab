// What recording needs from the kernel, checked before it is tried, so that the answer is one
// sentence.
#pragma once

#include <optional>
#include <string>

#include "cli/record/targets.h"

namespace labelscope::cli {

struct MissingPrivileges {
  std::string names;    // "CAP_BPF, CAP_PERFMON"
  std::string message;  // several lines, ending with the ways to give what is missing
};

// Nothing, where nothing is missing that can be told beforehand.
std::optional<MissingPrivileges> missing_for_bpf(const Targets& targets);
std::optional<MissingPrivileges> missing_for_ptrace(const Targets& targets);

}  // namespace labelscope::cli
