// Finds processes by the words with which people name them: a program's name, a systemd unit, a
// port, a container, a cgroup.
//
//   -p nginx           comm, the program's file, or its first argument
//   --unit nginx       a component of a cgroup's path
//   --cgroup /app      a cgroup's path, and all below it
//   --container web    an ID in a cgroup's path (cgroup.h); docker and podman keep names in files
//   --port 80          /proc/PID/net/tcp --> inode of the socket --> /proc/PID/fd
//
// All of it comes from /proc, where a process writes its name and its arguments itself. So a name
// is never a proof of who a process is, and each is escaped before it is shown.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/process/container_names.h"
#include "cli/process/listeners.h"
#include "cli/process/pinned_processes.h"
#include "cli/process/proc_listing.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

enum class NamedBy { kName, kWaitFor, kUnit, kPort, kContainer, kCgroup };

struct TargetName {
  NamedBy by;
  std::string word;  // as it was typed; of a port its digits

  // Returns it as it was typed, escaped: "--unit nginx".
  std::string typed() const;
  // Returns whether processes that start later can be found by it. The sockets of a process change
  // all the time, so a port names those that listen when it is asked.
  bool finds_later() const { return by != NamedBy::kPort; }
};

struct Match {
  TargetName name;
  std::vector<Pid> pids;  // in the order of numbers, at least one
};

// Where the kernel and the makers of containers keep what is read.
struct SystemFolders {
  std::string proc = "/proc";
  std::string docker = "/var/lib/docker/containers";
  std::string podman = "/var/lib/containers/storage/overlay-containers";
};

class ProcessFinder {
 public:
  explicit ProcessFinder(std::vector<TargetName> names, SystemFolders folders = {});
  ProcessFinder(const ProcessFinder&) = delete;
  ProcessFinder& operator=(const ProcessFinder&) = delete;

  // Returns the processes of each name. With kWaitFor, it waits for one to start, until `cancelled`
  // returns true; that is kVanished. If that one has ended meanwhile, it waits for the next. Kernel
  // threads, zombies and labelscope itself are left out.
  // Fails with kNotFound if there is none: the message says what there is that is near. Fails with
  // kPermission if there may be one that labelscope may not see.
  Result<std::vector<Match>> find(const std::function<bool()>& cancelled = {});
  // Returns processes that have begun since, and that a name finds that finds later ones. Each is
  // returned once. To be cheap it looks at new numbers only, and at all every few seconds: a
  // process may execute another program, or be moved to a cgroup.
  std::vector<Pid> find_new();
  // Holds on to those that were found, until the next find(). Each had its name when it was pinned.
  PinnedProcesses& pins() { return pins_; }

 private:
  using Clock = std::chrono::steady_clock;

  Status wait(const std::function<bool()>& cancelled);
  Result<std::vector<Match>> match_all();
  std::vector<Pid> look(const std::function<bool(Pid)>& wanted);
  bool matches(Pid pid, const TargetName& name);
  bool is_found(Pid pid, const std::function<bool(Pid)>& wanted);
  bool is_called(Pid pid, std::string_view word) const;
  bool is_in_container(Pid pid, std::string_view word);
  bool counts(Pid pid) const;
  Error nothing_found(const TargetName& name);
  Error no_listener(const TargetName& name);
  std::set<std::string> known_words(NamedBy by);

  std::vector<TargetName> names_;
  ProcListing processes_;
  Listeners listeners_;
  ContainerNames containers_;
  std::map<Pid, Clock::time_point> seen_;  // since when
  std::set<Pid> found_;
  bool pins_any_;  // the processes are those of this machine
  PinnedProcesses pins_;
  Clock::time_point next_full_look_{};
};

using Say = std::function<void(const std::string& line)>;

// Says which names are waited for.
void say_waiting(const std::vector<TargetName>& names, const Say& say);
// For commands that look at processes once. Returns each once, those named by ID first. Says what
// the words have found.
Result<std::vector<Pid>> named_processes(std::vector<Pid> pids,
                                         const std::vector<TargetName>& names, const Say& say);

}  // namespace labelscope::cli
