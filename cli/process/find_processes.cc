// Matches what /proc shows of each process with the words, and explains what matches nothing.
#include "cli/process/find_processes.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/process/cgroup.h"
#include "cli/process/near_words.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

using std::chrono::seconds;

// A program that is started has its own name, and its cgroup, a moment after its fork.
constexpr seconds kYoung{2};
constexpr seconds kFullLook{5};
// Reading the numbers of 2,000 processes takes 2 ms.
constexpr std::chrono::milliseconds kWaitInterval{20};
// Bounds of files that a process, or the owner of a container, can make as long as it wants.
constexpr std::size_t kMostFile = std::size_t{16} << 20;
constexpr std::size_t kMostArguments = 4096;
constexpr std::size_t kMostListed = 64;     // bytes of a list of numbers in a message
constexpr std::size_t kFewestIdDigits = 4;  // fewer would mean many containers at once

std::uint16_t port_of(const TargetName& name) {
  return whole_number<std::uint16_t>(name.word).value_or(0);
}

}  // namespace

std::string TargetName::typed() const {
  const char* option = by == NamedBy::kName        ? "-p "
                       : by == NamedBy::kWaitFor   ? "--wait-for "
                       : by == NamedBy::kUnit      ? "--unit "
                       : by == NamedBy::kPort      ? "--port "
                       : by == NamedBy::kContainer ? "--container "
                                                   : "--cgroup ";
  return option + shown_word(word);
}

ProcessFinder::ProcessFinder(std::vector<TargetName> names, SystemFolders folders)
    : names_(std::move(names)),
      processes_(folders.proc),
      listeners_(processes_),
      containers_(std::move(folders.docker), std::move(folders.podman)),
      pins_any_(folders.proc == SystemFolders().proc) {
  for (TargetName& name : names_) {
    if (name.by != NamedBy::kCgroup) continue;
    const auto mounts = read_proc_file("/proc/self/mountinfo", kMostFile);
    name.word = group_of_folder(name.word, mounts ? std::string_view(*mounts) : std::string_view());
  }
}

bool ProcessFinder::counts(Pid pid) const {
  if (raw(pid) == ::getpid()) return false;
  const auto stat = read_thread_stat(processes_.folder_of(pid) + "stat");
  if (!stat || stat->of_kernel()) return false;
  return !has_ended(stat->state) || !processes_.living_folder_of(pid).empty();
}

// comm has at most 15 bytes, so a longer name is that of the file, or the first argument.
bool ProcessFinder::is_called(Pid pid, std::string_view word) const {
  std::string folder = processes_.folder_of(pid);
  if (read_proc_line(folder + "comm") == word) return true;
  std::string program = link_target(folder + "exe");
  if (program.empty()) {  // the first thread has ended, or it is one of the kernel's
    folder = processes_.living_folder_of(pid);
    program = link_target(folder + "exe");
  }
  if (base_name(program) == word) return true;
  const auto arguments = read_proc_file(folder + "cmdline", kMostArguments);
  return arguments && base_name(arguments->substr(0, arguments->find('\0'))) == word;
}

bool ProcessFinder::is_in_container(Pid pid, std::string_view word) {
  const auto cgroup = read_proc_file(processes_.folder_of(pid) + "cgroup", kMostFile);
  if (!cgroup) return false;
  const std::string id = parse_cgroup(*cgroup).container;
  if (id.empty()) return false;
  if (word.size() >= kFewestIdDigits && id.starts_with(word)) return true;
  return containers_.name_of(id) == word;
}

bool ProcessFinder::matches(Pid pid, const TargetName& name) {
  const auto in_cgroup = [&](auto matches_text) {
    const auto cgroup = read_proc_file(processes_.folder_of(pid) + "cgroup", kMostFile);
    return cgroup && matches_text(*cgroup);
  };
  switch (name.by) {
    case NamedBy::kName:
    case NamedBy::kWaitFor:
      return is_called(pid, name.word);
    case NamedBy::kUnit:
      return in_cgroup(
          [&](const std::string& text) { return is_in_unit(text, whole_unit(name.word)); });
    case NamedBy::kPort:
      return listeners_.are_held_by(pid, port_of(name));
    case NamedBy::kContainer:
      return is_in_container(pid, name.word);
    case NamedBy::kCgroup:
      return in_cgroup([&](const std::string& text) { return is_in_group(text, name.word); });
  }
  return false;
}

// The number may go to another process between the look and the pin, so there is a second look.
bool ProcessFinder::is_found(Pid pid, const std::function<bool(Pid)>& wanted) {
  if (!wanted(pid) || !counts(pid)) return false;
  if (!pins_any_ || (pins_.pin(pid) && wanted(pid) && counts(pid))) return true;
  pins_.unpin(pid);
  return false;
}

// What was waited for may have ended before it is looked for with the others.
Result<std::vector<Match>> ProcessFinder::find(const std::function<bool()>& cancelled) {
  while (true) {
    if (Status waited = wait(cancelled); !waited) return std::move(waited).error();
    auto matches = match_all();
    if (!matches) return std::move(matches).error();
    const bool missed =
        std::ranges::any_of(*matches, [](const Match& m) { return m.pids.empty(); });
    if (!missed) return matches;
  }
}

// Returns a name of --wait-for without processes if there is none. This is an error for any other.
Result<std::vector<Match>> ProcessFinder::match_all() {
  const auto now = Clock::now();
  const std::vector<Pid> pids = processes_.pids();
  seen_.clear();
  found_.clear();
  pins_.clear();
  for (const Pid pid : pids) seen_[pid] = now;
  next_full_look_ = now + kFullLook;
  std::vector<Match> all;
  for (const TargetName& name : names_) {
    if (name.by == NamedBy::kCgroup && name.word.empty()) {
      return Error{ErrorCode::kNotFound,
                   "--cgroup /: the root group holds every process; name a group below it"};
    }
    Match& match = all.emplace_back(Match{name, {}});
    for (const Pid pid : pids) {
      if (is_found(pid, [&](Pid one) { return matches(one, name); })) match.pids.push_back(pid);
    }
    if (match.pids.empty() && name.by != NamedBy::kWaitFor) return nothing_found(name);
    found_.insert(match.pids.begin(), match.pids.end());
  }
  return all;
}

Status ProcessFinder::wait(const std::function<bool()>& cancelled) {
  for (const TargetName& name : names_) {
    if (name.by != NamedBy::kWaitFor) continue;
    seen_.clear();  // one that runs already counts, too
    found_.clear();
    while (look([&](Pid pid) { return is_called(pid, name.word); }).empty()) {
      if (cancelled && cancelled()) {
        return Error{ErrorCode::kVanished, name.typed() + ": interrupted before it has started"};
      }
      std::this_thread::sleep_for(kWaitInterval);
    }
  }
  return {};
}

std::vector<Pid> ProcessFinder::find_new() {
  return look([&](Pid pid) {
    return std::ranges::any_of(
        names_, [&](const TargetName& name) { return name.finds_later() && matches(pid, name); });
  });
}

std::vector<Pid> ProcessFinder::look(const std::function<bool(Pid)>& wanted) {
  const auto now = Clock::now();
  const bool full = now >= next_full_look_;
  if (full) next_full_look_ = now + kFullLook;
  std::map<Pid, Clock::time_point> seen;
  std::vector<Pid> fresh;
  for (const Pid pid : processes_.pids()) {
    const auto before = seen_.find(pid);
    const auto since = seen[pid] = before == seen_.end() ? now : before->second;
    if (before == seen_.end()) found_.erase(pid);  // the number belongs to another process now
    if (found_.contains(pid) || (!full && now - since > kYoung)) continue;
    if (!is_found(pid, wanted)) continue;
    found_.insert(pid);
    fresh.push_back(pid);
  }
  seen_ = std::move(seen);
  return fresh;
}

// The words that this kind of name could have been.
std::set<std::string> ProcessFinder::known_words(NamedBy by) {
  std::set<std::string> words;
  for (const Pid pid : processes_.pids()) {
    const std::string folder = processes_.folder_of(pid);
    if (by == NamedBy::kName) {
      if (counts(pid)) words.insert(read_proc_line(folder + "comm"));
      continue;
    }
    const auto cgroup = read_proc_file(folder + "cgroup", kMostFile);
    if (!cgroup) continue;
    if (by == NamedBy::kContainer) {
      const std::string id = parse_cgroup(*cgroup).container;
      constexpr std::size_t kShortId = 12;  // as docker shows it
      if (id.empty()) continue;
      const std::string& name = containers_.name_of(id);
      words.insert(name.empty() ? id.substr(0, kShortId) : name);
      continue;
    }
    words.merge(by == NamedBy::kUnit ? units_in(*cgroup) : groups_in(*cgroup));
  }
  words.erase("");
  return words;
}

Error ProcessFinder::nothing_found(const TargetName& name) {
  if (name.by == NamedBy::kPort) return no_listener(name);
  const std::set<std::string> known = known_words(name.by);
  const std::string typed = name.typed();
  std::string text;
  switch (name.by) {
    case NamedBy::kUnit:
      text = typed + ": no process runs in the unit " + shown_word(whole_unit(name.word)) +
             suggestions(whole_unit(name.word), known, true);
      break;
    case NamedBy::kContainer:
      text = typed + ": no process runs in a container of this ID or name" +
             suggestions(name.word, known, true);
      if (known.empty()) text += "; no process seems to run in any container here";
      if (!containers_.refused().empty()) {
        text += " (the names of some are not known: " + containers_.refused() + ")";
      }
      break;
    case NamedBy::kCgroup:
      text =
          typed + ": no process runs in this group or below" + suggestions(name.word, known, true);
      break;
    default:
      text = typed + ": no process is called that";
      if (const std::size_t slash = name.word.rfind('/'); slash != std::string::npos) {
        text += "; a name has no folder: " + shown_word(name.word.substr(slash + 1));
      } else if (name.word.find_first_not_of("0123456789") == std::string::npos) {
        text += "; a process ID is written without =";
      } else {
        text += suggestions(name.word, known, false);
      }
  }
  return {ErrorCode::kNotFound, text};
}

Error ProcessFinder::no_listener(const TargetName& name) {
  const bool open = listeners_.is_open(port_of(name));
  if (open && listeners_.unseen() != 0) {
    return {ErrorCode::kPermission,
            name.typed() +
                ": something listens there, and labelscope may not see which process "
                "(the open files of " +
                counted(listeners_.unseen(), "process", "processes") +
                " may not be read): run it as root, or with CAP_SYS_PTRACE"};
  }
  if (open) {
    return {ErrorCode::kNotFound,
            name.typed() +
                ": something listens there that is no process which labelscope can "
                "see: the kernel, or a process of another pid namespace"};
  }
  const std::vector<int> ports = listeners_.nearest(port_of(name), kMostSuggested);
  std::string text = name.typed() + ": nothing listens on this TCP port";
  for (std::size_t i = 0; i < ports.size(); ++i) {
    text += (i == 0 ? "; there are listeners on " : ", ") + std::to_string(ports[i]);
  }
  return {ErrorCode::kNotFound, text};
}

void say_waiting(const std::vector<TargetName>& names, const Say& say) {
  for (const TargetName& name : names) {
    if (name.by == NamedBy::kWaitFor) say("Waiting for " + shown_word(name.word));
  }
}

Result<std::vector<Pid>> named_processes(std::vector<Pid> pids,
                                         const std::vector<TargetName>& names, const Say& say) {
  if (names.empty()) return pids;
  say_waiting(names, say);
  auto matches = ProcessFinder(names).find();
  if (!matches) return std::move(matches).error();
  for (const Match& match : *matches) {
    std::string listed;
    for (const Pid pid : match.pids) {
      if (std::ranges::find(pids, pid) == pids.end()) pids.push_back(pid);
      listed += (listed.empty() ? "" : ", ") + std::to_string(raw(pid));
    }
    say(match.name.typed() + ": " + counted(match.pids.size(), "process", "processes") + " (" +
        without_middle(listed, kMostListed) + ")");
  }
  return pids;
}

}  // namespace labelscope::cli
