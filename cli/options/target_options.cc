// The options that name running processes, as they are typed.
#include "cli/options/target_options.h"

#include <algorithm>

#include "cli/options/values.h"

namespace labelscope::cli {
namespace {

std::vector<std::string> parse_ports(const std::string& option,
                                     const std::vector<std::string>& texts) {
  std::vector<std::string> ports;
  ports.reserve(texts.size());
  for (const std::string& text : texts) {
    ports.push_back(std::to_string(Count{1, 65535}(option, text)));
  }
  return ports;
}

// Names and paths of the kernel have no byte 0 and end somewhere; a longer word matches nothing.
std::vector<std::string> parse_words(const std::string& option,
                                     const std::vector<std::string>& texts) {
  constexpr std::size_t kLongest = 4096;
  for (const std::string& text : texts) {
    if (text.empty()) refuse(option + ": the name is empty");
    if (text.size() > kLongest) refuse(option + ": the name has more than 4096 bytes");
  }
  return texts;
}

}  // namespace

void TargetOptions::declare(OptionList& list, const std::string& what) {
  list.words("-p,--pid", "PID|NAME[,...]",
             what + ", by ID, or all of this name (=4242: of the name 4242)", processes,
             parse_processes);
  list.words("--wait-for", "NAME", "Wait until a process of this name has started (repeatable)",
             wait_for, parse_words);
  list.words("--unit", "UNIT", "All of a systemd unit: nginx, app.slice (repeatable)", units,
             parse_words);
  list.words("--port", "PORT", "Those that listen on a TCP port (repeatable)", ports, parse_ports);
  list.words("--container", "ID|NAME",
             "All of a container of docker, podman, Kubernetes (repeatable)", containers,
             parse_words);
  list.words("--cgroup", "PATH", "All of a cgroup and of those below it (repeatable)", cgroups,
             parse_words);
}

std::vector<TargetName> TargetOptions::names() const {
  std::vector<TargetName> all;
  const auto add = [&](NamedBy by, const std::vector<std::string>& words) {
    for (const std::string& word : words) all.push_back({by, word});
  };
  add(NamedBy::kName, processes.names);
  add(NamedBy::kWaitFor, wait_for);
  add(NamedBy::kUnit, units);
  add(NamedBy::kPort, ports);
  add(NamedBy::kContainer, containers);
  add(NamedBy::kCgroup, cgroups);
  return all;
}

}  // namespace labelscope::cli
