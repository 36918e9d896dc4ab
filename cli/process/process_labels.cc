// Reads these labels within bounds.
#include "cli/process/process_labels.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "cli/process/cgroup.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

constexpr const char* kVariableOption = "--env-label";
constexpr const char* kListOption = "--env-labels";
constexpr const char* kPropertyOption = "--process-label";
constexpr const char* kListVariable = "LABELSCOPE_LABELS";
// The kernel lets no program start with more than 6 MiB of arguments and environment. But a program
// may later report another place and a greater length for its environment (prctl(2)).
constexpr std::size_t kMostEnvironment = std::size_t{6} << 20;
// The file has some hierarchies of version 1, each with a path of 4,096 bytes at most.
constexpr std::size_t kMostCgroup = std::size_t{64} << 10;
constexpr std::size_t kMostStatus = std::size_t{64} << 10;
// Longer values are cut: labels must be easy to distinguish at a glance.
constexpr std::size_t kMostValue = 1024;
constexpr std::size_t kMostKey = 256;

constexpr std::array<std::string_view, kProcessSources> kSourcePaths{"[environment]", "[cgroup]",
                                                                     "[process]", "[scheduler]"};

// Returns the value of the first variable of that name, as getenv() does.
std::optional<std::string_view> find_variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// Whether a title, or zeros behind one, stand where the environment was.
bool is_overwritten(std::string_view environment) {
  if (environment.empty()) return false;
  return environment.substr(0, environment.find('\0')).find('=') == std::string_view::npos;
}

// A server forks a worker, and that perhaps another one.
constexpr std::size_t kMostAncestors = 16;

// The processes of which this one was forked and that run its program, the first one in front.
std::vector<std::unique_ptr<LiveProcess>> ancestors(const LiveProcess& process) {
  std::vector<std::unique_ptr<LiveProcess>> found;
  for (auto next = process.fork_parent(); next && found.size() < kMostAncestors;) {
    found.push_back(std::move(next));
    next = found.back()->fork_parent();
  }
  std::ranges::reverse(found);
  return found;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

std::string percent_decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      bytes += static_cast<char>(value);
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

// Returns the user as whom the process acts. The line has the real, effective, saved and file
// system ID.
std::string effective_uid(std::string_view status) {
  std::string_view numbers = status_field(status, "Uid");
  numbers.remove_prefix(std::min(numbers.find('\t'), numbers.size()));
  numbers = trimmed(numbers);
  return std::string(numbers.substr(0, numbers.find('\t')));
}

bool is_cgroup_property(ProcessProperty property) { return property <= ProcessProperty::kCgroup; }

std::string value_in(const CgroupNames& names, ProcessProperty property) {
  switch (property) {
    case ProcessProperty::kContainer:
      return names.container;
    case ProcessProperty::kPod:
      return names.pod;
    case ProcessProperty::kUnit:
      return names.unit;
    default:
      return names.path;
  }
}

// The sentence is the same for every process, and so it is printed once.
std::string cannot_be_read(const char* what, const Error& error) {
  std::string_view why = error.context;
  why.remove_prefix(
      std::min(why.rfind(": ") == std::string_view::npos ? 0 : why.rfind(": ") + 2, why.size()));
  return std::string(what) + " cannot be read (" + std::string(why) + ")";
}

// Names a property that is missing, for the sentence about it.
std::string missing_text(ProcessProperty property) {
  switch (property) {
    case ProcessProperty::kContainer:
      return "no container ID is in the cgroup path";
    case ProcessProperty::kPod:
      return "no pod UID is in the cgroup path";
    case ProcessProperty::kUnit:
      return "no systemd unit is in the cgroup path";
    case ProcessProperty::kCgroup:
      return "the kernel names no cgroup but the root";
    case ProcessProperty::kCommand:
      return "there is no command line";
    default:
      return "the user is not known";
  }
}

}  // namespace

std::string_view source_path(ProcessSource source) {
  return kSourcePaths[static_cast<std::size_t>(source)];
}

bool is_process_source(std::string_view publisher_path) {
  return std::ranges::find(kSourcePaths, publisher_path) != kSourcePaths.end();
}

void add_process_labels(const ProcessLabels& own, std::uint8_t first, LabelSet& labels) {
  const std::size_t of_thread = labels.size();
  for (const ProcessLabel& label : own) {
    const auto end = labels.begin() + static_cast<std::ptrdiff_t>(of_thread);
    if (std::find_if(labels.begin(), end, [&](const Label& its) { return its.key == label.key; }) !=
        end) {
      continue;
    }
    labels.push_back({label.key, label.value,
                      static_cast<std::uint8_t>(first + static_cast<std::uint8_t>(label.source))});
  }
}

PairList parse_pair_list(std::string_view text) {
  PairList list;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view key = trimmed(part.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      if (list.malformed.size() < LS_MAX_LABELS) {
        list.malformed.emplace_back(part.substr(0, kMostKey));
      }
      continue;
    }
    if (list.pairs.size() == LS_MAX_LABELS) {
      ++list.left_out;
      continue;
    }
    list.pairs.emplace_back(percent_decoded(key),
                            percent_decoded(trimmed(part.substr(equals + 1))));
  }
  return list;
}

// The bounds are those of a thread's labels (outcome.h).
void ProcessLabelReader::add(ProcessLabels& labels, std::string_view key, std::string value,
                             ProcessSource source) {
  std::size_t bytes = 0;
  for (const ProcessLabel& label : labels) {
    if (label.key == key) return;
    bytes += label.key.size() + label.value.size();
  }
  if (value.size() > kMostValue) {
    value.resize(kMostValue);
    if (!again_) ++cut_;
  }
  if (labels.size() >= LS_MAX_LABELS || key.size() > kMostKey ||
      bytes + key.size() + value.size() > LS_MAX_LABEL_BYTES) {
    if (!again_) ++left_out_;
    return;
  }
  labels.push_back({std::string(key), std::move(value), source});
}

void ProcessLabelReader::miss(const char* option, const std::string& what,
                              const LiveProcess& process) {
  if (again_) return;
  Missing& missing = missing_[std::string(option) + ": " + what];
  if (missing.count++ == 0) {
    missing.example = "process " + std::to_string(raw(process.pid())) + ", " + process.comm();
  }
}

void ProcessLabelReader::add_environment(const Ancestry& ancestry, ProcessLabels& labels,
                                         ProcessLabels& list) {
  if (options_.variables.empty() && !options_.list) return;
  const LiveProcess& process = *ancestry.back();
  const char* option = options_.list ? kListOption : kVariableOption;
  Result<std::string> environment = std::string();
  bool overwritten = false;
  for (const LiveProcess* each : ancestry) {
    environment = read_proc_file(each->proc_path("environ"), kMostEnvironment);
    overwritten = environment && is_overwritten(*environment);
    if (environment && !overwritten) break;
  }
  if (!environment) {
    return miss(option, cannot_be_read("the environment", environment.error()), process);
  }
  if (overwritten) {
    return miss(option, "the program has overwritten its environment (with its title)", process);
  }
  for (const auto& [name, key] : options_.variables) {
    if (const auto value = find_variable(*environment, name)) {
      add(labels, key, std::string(*value), ProcessSource::kEnvironment);
    } else {
      miss(kVariableOption, name + " is not in the environment", process);
    }
  }
  if (!options_.list) return;
  const auto text = find_variable(*environment, kListVariable);
  if (!text) {
    miss(kListOption, std::string(kListVariable) + " is not in the environment", process);
    return;
  }
  PairList read = parse_pair_list(*text);
  for (std::string& part : read.malformed) {
    if (malformed_.size() < LS_MAX_LABELS) malformed_.insert(std::move(part));
  }
  if (!again_) left_out_ += read.left_out;
  for (auto& [key, value] : read.pairs) {
    add(list, key, std::move(value), ProcessSource::kEnvironment);
  }
}

void ProcessLabelReader::add_properties(const Ancestry& ancestry, ProcessLabels& labels) {
  const LiveProcess& process = *ancestry.back();
  std::optional<Result<std::string>> cgroup;
  for (const auto& [property, key] : options_.properties) {
    std::string value;
    if (is_cgroup_property(property)) {
      if (!cgroup) cgroup = read_proc_file(process.proc_path("cgroup"), kMostCgroup);
      if (!*cgroup) {
        miss(kPropertyOption, cannot_be_read("the cgroup", cgroup->error()), process);
        continue;
      }
      value = value_in(parse_cgroup(**cgroup), property);
    } else if (property == ProcessProperty::kCommand) {
      value = ancestry.front()->command_line();
    } else {
      const auto status = read_proc_file(process.proc_path("status"), kMostStatus);
      if (!status) {
        miss(kPropertyOption, cannot_be_read("the user", status.error()), process);
        continue;
      }
      value = effective_uid(*status);
      if (property == ProcessProperty::kUser && !value.empty()) value = user_name(value);
    }
    if (value.empty()) {
      miss(kPropertyOption, missing_text(property), process);
    } else {
      add(labels, key, std::move(value),
          is_cgroup_property(property) ? ProcessSource::kCgroup : ProcessSource::kProcess);
    }
  }
}

// Looks the user up on this machine, or in the container in which labelscope runs; if there is
// none, returns the number.
std::string ProcessLabelReader::user_name(const std::string& uid) {
  auto [known, fresh] = users_.try_emplace(uid, uid);
  uid_t number = 0;
  const char* end = uid.data() + uid.size();
  if (fresh && std::from_chars(uid.data(), end, number).ptr == end) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> strings{};
    if (::getpwuid_r(number, &entry, strings.data(), strings.size(), &found) == 0 &&
        found != nullptr) {
      known->second = found->pw_name;
    }
  }
  return known->second;
}

ProcessLabels ProcessLabelReader::read(const LiveProcess& process) {
  ProcessLabels labels;
  if (!options_.any()) return labels;
  if (!again_) ++processes_;
  const std::vector<std::unique_ptr<LiveProcess>> before = ancestors(process);
  Ancestry ancestry;
  for (const auto& each : before) ancestry.push_back(each.get());
  ancestry.push_back(&process);
  ProcessLabels list;
  add_environment(ancestry, labels, list);
  add_properties(ancestry, labels);
  for (ProcessLabel& label : list) add(labels, label.key, std::move(label.value), label.source);
  return labels;
}

ProcessLabels ProcessLabelReader::read_again(const LiveProcess& process) {
  again_ = true;
  ProcessLabels labels = read(process);
  again_ = false;
  return labels;
}

bool ProcessLabelReader::may_change_after_fork() const {
  return std::ranges::any_of(options_.properties,
                             [](const ProcessLabelOptions::Property& property) {
                               return property.property != ProcessProperty::kCommand;
                             });
}

std::vector<std::string> ProcessLabelReader::problems() const {
  std::vector<std::string> lines;
  const auto say = [&](std::string what) { lines.push_back(std::move(what)); };
  const std::string all = std::to_string(processes_);
  for (const auto& [what, missing] : missing_) {
    const std::string count = "in " + std::to_string(missing.count) + " of " + all + " processes, ";
    say(what + " (" + (processes_ == 1 ? "" : count + (missing.count == 1 ? "" : "one is ")) +
        missing.example + ")");
  }
  if (gone_ != 0) {
    say(gone_ == 1 ? "1 program was over before labelscope could look at it: its samples have no "
                     "labels of the process"
                   : std::to_string(gone_) +
                         " programs were over before labelscope could look at them: their samples "
                         "have no labels of the process");
  }
  if (!malformed_.empty()) {
    std::string parts;
    for (const std::string& part : malformed_)
      parts += (parts.empty() ? "\"" : ", \"") + part + '"';
    say(std::string(kListVariable) + ": no key=value, and left out: " + parts);
  }
  if (cut_ != 0) {
    say(std::to_string(cut_) + " labels of processes were cut after " + std::to_string(kMostValue) +
        " bytes");
  }
  if (left_out_ != 0) {
    say(std::to_string(left_out_) + " labels of processes were left out: a process may have " +
        std::to_string(LS_MAX_LABELS) + ", with " + std::to_string(LS_MAX_LABEL_BYTES) +
        " bytes together and " + std::to_string(kMostKey) + " in a key");
  }
  return lines;
}

}  // namespace labelscope::cli
