// What `labelscope dump` knows of one process, dead or alive. formats.h renders it. Strings
// from the target are raw bytes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/process/process_labels.h"
#include "cli/profile/profile.h"
#include "cli/unwind/table_worker.h"
#include "labelscope/core_file.h"
#include "labelscope/explain.h"
#include "sampling/snapshot.h"

namespace labelscope::cli {

struct CoreOrigin {
  std::string path;
  std::vector<CoreFileProblem> problems;  // files of the process that are missing or doubtful
  bool truncated = false;
};

// Stacks in the form of a profile, because the symbolizer gives names to profiles. Only `modules`,
// `locations` and `stacks` of the profile are used.
struct NamedStacks {
  Profile profile;
  std::vector<Index> of_thread;  // parallel to ProcessSnapshot::threads; kNoIndex: no stack
};

struct ProcessDump {
  ProcessSnapshot snapshot;
  std::string command_line;
  ProcessLabels process_labels;  // labels of the process that the user asked for
  std::optional<CoreOrigin> core;
  // Why ptrace could not read it, or the threads of it that ran; empty if ptrace did or was not
  // wanted.
  std::string refusal;
  // The number of threads that did not stop in time for ptrace. BPF has read these.
  std::size_t late_by_bpf = 0;
  std::optional<NamedStacks> stacks;
  // files that stacks lead into but cannot be followed through
  TableWorker::Failures without_table;
  std::optional<Explanation> explanation;  // how the process's labels are found
  std::map<Tid, Explanation> of_threads;   // the same for each thread that could be read
};

}  // namespace labelscope::cli
