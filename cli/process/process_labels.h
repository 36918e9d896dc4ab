// Labels of a whole process, for programs that cannot be changed: from its environment, from its
// cgroup, and from what the kernel knows. They are read only if the user asks for them.
//
//   --env-label VAR           a variable of its environment     [environment]
//   --env-labels              LABELSCOPE_LABELS=key=value,...   [environment]
//   --process-label PROPERTY  container, pod, unit, cgroup      [cgroup]
//                             user, uid, command                [process]
//
// They are read once for each program that a process executes. The environment is the one that the
// program was started with: what it sets later is in its own memory. Each sample of the process has
// them, but for keys that the thread has a label of.
//
// A server forks workers, which run the same program: environment and command are those of its
// first process, as long as that lives, whether labelscope has seen the fork or not. Many servers
// write a title over both (setproctitle(3)), often in the workers alone:
//
//   postgres -D data      environment          <-- command and environment of all
//     postgres: writer    (title)
//     postgres: client    (title)
//
// User and cgroup are each process's own: a worker often changes its user when it begins.
//
// All of it is hostile: a process may make its environment as long as it likes and put any bytes
// into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labelscope/label.h"
#include "labelscope/target.h"

namespace labelscope::cli {

enum class ProcessProperty { kContainer, kPod, kUnit, kCgroup, kUser, kUid, kCommand };
struct ProcessPropertyName {
  std::string_view name;
  ProcessProperty value;
};
inline constexpr ProcessPropertyName kProcessProperties[] = {
    {"container", ProcessProperty::kContainer}, {"pod", ProcessProperty::kPod},
    {"unit", ProcessProperty::kUnit},           {"cgroup", ProcessProperty::kCgroup},
    {"user", ProcessProperty::kUser},           {"uid", ProcessProperty::kUid},
    {"command", ProcessProperty::kCommand}};

// The labels that the user asks for.
struct ProcessLabelOptions {
  struct Variable {
    std::string name;
    std::string key;
  };
  struct Property {
    ProcessProperty property{};
    std::string key;
  };
  std::vector<Variable> variables{};
  std::vector<Property> properties{};
  bool list = false;  // read LABELSCOPE_LABELS

  bool any() const { return list || !variables.empty() || !properties.empty(); }
};

// The source of a label; formats show it as if it were a publisher's path.
// kScheduler is that of waits (cli/profile/wait_reason.h).
enum class ProcessSource : std::uint8_t { kEnvironment, kCgroup, kProcess, kScheduler };
inline constexpr std::size_t kProcessSources = 4;
std::string_view source_path(ProcessSource source);  // Returns "[environment]" and so on.
bool is_process_source(std::string_view publisher_path);

struct ProcessLabel {
  std::string key;
  std::string value;
  ProcessSource source{};
  bool operator==(const ProcessLabel&) const = default;
};
using ProcessLabels = std::vector<ProcessLabel>;

// Appends those whose keys are not there yet. Their publishers are `first` plus the number of the
// source.
void add_process_labels(const ProcessLabels& own, std::uint8_t first, LabelSet& labels);

// The pairs of LABELSCOPE_LABELS: "key=value,key=value", as OTEL_RESOURCE_ATTRIBUTES is written.
// Spaces around keys and values do not count; %2C in a value is a comma, and so on for each byte.
// `malformed`: parts that are none ("x", "=y"), which are left out; LS_MAX_LABELS at most.
struct PairList {
  std::vector<std::pair<std::string, std::string>> pairs;  // at most LS_MAX_LABELS
  std::vector<std::string> malformed;
  std::size_t left_out = 0;
};
PairList parse_pair_list(std::string_view text);

// Reads the labels that the user asks for, and remembers those that could not be read, for one
// sentence at the end.
class ProcessLabelReader {
 public:
  explicit ProcessLabelReader(ProcessLabelOptions options) : options_(std::move(options)) {}

  // If two have one key, the first counts: --env-label, then --process-label, in the order in which
  // they were given; then LABELSCOPE_LABELS.
  ProcessLabels read(const LiveProcess& process);
  // Whether a forked child may have others than its parent a moment later.
  bool may_change_after_fork() const;
  // What was read of it before, again: nothing is counted twice.
  ProcessLabels read_again(const LiveProcess& process);
  // Sentences such as "--env-label: SLURM_JOB_ID is not in the environment (in 2 of 5 processes,
  // one is process 42, worker)".
  std::vector<std::string> problems() const;
  // Counts a program that has ended or executed another one before its labels could be read.
  void note_gone() {
    if (options_.any()) ++gone_;
  }

 private:
  void add(ProcessLabels& labels, std::string_view key, std::string value, ProcessSource source);
  void miss(const char* option, const std::string& what, const LiveProcess& process);
  // `first`: of the program, the process itself or one that it was forked from; the processes in
  // between follow.
  using Ancestry = std::vector<const LiveProcess*>;
  void add_environment(const Ancestry& ancestry, ProcessLabels& labels, ProcessLabels& list);
  void add_properties(const Ancestry& ancestry, ProcessLabels& labels);
  std::string user_name(const std::string& uid);

  ProcessLabelOptions options_;
  std::size_t processes_ = 0;  // counts programs: a process may execute several
  struct Missing {
    std::size_t count = 0;
    std::string example;  // the first process
  };
  std::map<std::string, Missing> missing_;  // by option and label
  std::set<std::string> malformed_;
  bool again_ = false;
  std::size_t gone_ = 0;
  std::size_t cut_ = 0;
  std::size_t left_out_ = 0;
  std::map<std::string, std::string> users_;  // names by number
};

}  // namespace labelscope::cli
