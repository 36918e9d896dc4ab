// What `labelscope dump` has found out about one process, dead or alive: what text.h and json.h
// render. All strings from the target are bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/core_file.h"
#include "labelscope/explain.h"
#include "labelscope/snapshot.h"

namespace labelscope::cli {

struct CoreOrigin {
  std::string path;
  std::vector<CoreFileProblem> problems;  // files of the process that are missing or doubtful
  bool truncated = false;
};

// Stacks as indices into a profile's tables, named by the symbolizer: only `modules`, `locations`
// and `stacks` of it are used.
struct NamedStacks {
  Profile profile;
  std::vector<Index> of_thread;  // parallel to ProcessSnapshot::threads; kNoIndex: no stack
};

struct ProcessDump {
  ProcessSnapshot snapshot;
  std::string command_line;
  std::optional<CoreOrigin> core;
  std::string refusal;  // why it was not read by ptrace, where it was to be; empty otherwise
  // Threads that waited for a processor instead of stopping for ptrace, and were read by BPF.
  std::size_t late_by_bpf = 0;
  std::optional<NamedStacks> stacks;
  std::optional<Explanation> explanation;  // how the process's labels are found
  std::map<Tid, Explanation> of_threads;   // and each thread's, of those that could be read
};

// By what the labels of a publisher are told from another's.
std::string publisher_name(const ProcessDump& dump, std::size_t publisher);

}  // namespace labelscope::cli
