// The options that name running processes, which record, dump and check share.
#pragma once

#include <string>
#include <vector>

#include "cli/options/option_list.h"
#include "cli/process/find_processes.h"
#include "labelscope/ids.h"

namespace labelscope::cli {

// The words of -p: IDs, and names of programs.
struct ProcessWords {
  std::vector<Pid> pids;
  std::vector<std::string> names;
};

struct TargetOptions {
  ProcessWords processes;
  std::vector<std::string> wait_for;
  std::vector<std::string> units;
  std::vector<std::string> ports;
  std::vector<std::string> containers;
  std::vector<std::string> cgroups;

  // `what` is what the command does with processes: "Processes to record".
  void declare(OptionList& list, const std::string& what);
  bool empty() const { return processes.pids.empty() && names().empty(); }
  // Returns all words but the IDs, in the order of the options in --help.
  std::vector<TargetName> names() const;
};

}  // namespace labelscope::cli
