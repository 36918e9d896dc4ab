// Matches what /proc shows of each process with the words, and explains what matches nothing.
#include "cli/process/find_processes.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "cli/process/cgroup.h"
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
constexpr std::size_t kMostSuggested = 5;
constexpr std::size_t kMostShown = 64;      // bytes of one word in a message
constexpr std::size_t kMostCompared = 128;  // bytes of words whose distance is counted
constexpr std::size_t kFewestIdDigits = 4;  // fewer would mean many containers at once

using Folder = std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })>;

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Calls `take` with the name of each entry that is a number.
template <class T, class Take>
bool each_number(const std::string& path, Take take) {
  const Folder folder(::opendir(path.c_str()));
  if (!folder) return false;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const auto value = number<T>(entry->d_name)) take(*value);
  }
  return true;
}

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

std::string shown(std::string_view word) {
  return without_middle(escape_terminal(word), kMostShown);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// Returns the words that are most like `word`, the nearest first: those with few changes, and those
// of which it is a part.
std::vector<std::string> near(std::string_view word, const std::set<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  if (word.empty() || word.size() > kMostCompared) return {};
  const std::string typed = lower(word);
  for (const std::string& one : known) {
    if (one.size() > kMostCompared) continue;
    const std::string other = lower(one);
    const std::size_t changes = edit_distance(typed, other);
    const bool part = other.find(typed) != std::string::npos;
    if (part || changes <= std::max<std::size_t>(1, typed.size() / 3)) {
      ranked.emplace_back(changes, one);
    }
  }
  std::ranges::sort(ranked);
  std::vector<std::string> words;
  words.reserve(ranked.size());
  for (const auto& [changes, one] : ranked) words.push_back(one);
  return words;
}

// Returns "; there are a, b and 3 more", of the words that are near, or of all if none is.
std::string suggestions(const std::string& word, const std::set<std::string>& known, bool all) {
  std::vector<std::string> words = near(word, known);
  if (words.empty() && all) words.assign(known.begin(), known.end());
  if (words.empty()) return {};
  std::string text = words.size() == 1 ? "; there is " : "; there are ";
  const std::size_t count = std::min(words.size(), kMostSuggested);
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + shown(words[i]);
  if (words.size() > count) text += " and " + std::to_string(words.size() - count) + " more";
  return text;
}

}  // namespace

std::string TargetName::typed() const {
  const char* option = by == NamedBy::kName        ? "-p "
                       : by == NamedBy::kWaitFor   ? "--wait-for "
                       : by == NamedBy::kUnit      ? "--unit "
                       : by == NamedBy::kPort      ? "--port "
                       : by == NamedBy::kContainer ? "--container "
                                                   : "--cgroup ";
  return option + shown(word);
}

ProcessFinder::ProcessFinder(std::vector<TargetName> names, SystemFolders folders)
    : names_(std::move(names)),
      proc_(std::move(folders.proc)),
      containers_(std::move(folders.docker), std::move(folders.podman)) {
  for (TargetName& name : names_) {
    if (name.by != NamedBy::kCgroup) continue;
    const auto mounts = read_proc_file("/proc/self/mountinfo", kMostFile);
    name.word = group_of_folder(name.word, mounts ? std::string_view(*mounts) : std::string_view());
  }
}

std::vector<Pid> ProcessFinder::all_pids() const {
  std::vector<Pid> pids;
  each_number<std::int32_t>(proc_, [&](std::int32_t pid) { pids.push_back(Pid{pid}); });
  std::ranges::sort(pids);
  return pids;
}

std::string ProcessFinder::folder_of(Pid pid) const {
  return proc_ + "/" + std::to_string(raw(pid)) + "/";
}

bool ProcessFinder::counts(Pid pid) const {
  if (raw(pid) == ::getpid()) return false;
  const auto stat = read_thread_stat(folder_of(pid) + "stat");
  return stat && !stat->of_kernel() && !has_ended(stat->state);
}

// comm has at most 15 bytes, so a longer name is that of the file, or the first argument.
bool ProcessFinder::is_called(Pid pid, std::string_view word) const {
  const std::string folder = folder_of(pid);
  if (read_proc_line(folder + "comm") == word) return true;
  if (base_name(link_target(folder + "exe")) == word) return true;
  const auto arguments = read_proc_file(folder + "cmdline", kMostArguments);
  return arguments && base_name(arguments->substr(0, arguments->find('\0'))) == word;
}

bool ProcessFinder::is_in_container(Pid pid, std::string_view word) {
  const auto cgroup = read_proc_file(folder_of(pid) + "cgroup", kMostFile);
  if (!cgroup) return false;
  const std::string id = parse_cgroup(*cgroup).container;
  if (id.empty()) return false;
  if (word.size() >= kFewestIdDigits && id.starts_with(word)) return true;
  return containers_.name_of(id) == word;
}

// A line of /proc/net/tcp: "SL LOCAL:PORT REMOTE:PORT STATE QUEUES TIMER RETRANSMITS UID TIMEOUT
// INODE ...", the port and the state in hexadecimal digits.
void ProcessFinder::read_listeners() {
  constexpr std::string_view kListens = "0A";
  listeners_.emplace();
  std::set<std::string> namespaces;
  for (const Pid pid : all_pids()) {
    const std::string folder = folder_of(pid);
    if (!namespaces.insert(link_target(folder + "ns/net")).second) continue;
    for (const char* file : {"net/tcp", "net/tcp6"}) {
      const auto text = read_proc_file(folder + file, kMostFile);
      std::string_view rest = text ? std::string_view(*text) : std::string_view();
      while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        std::array<std::string_view, 10> fields;
        for (std::string_view& field : fields) {
          line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
          field = line.substr(0, line.find(' '));
          line.remove_prefix(field.size());
        }
        if (fields[3] != kListens) continue;
        const std::size_t colon = fields[1].rfind(':');
        if (colon == std::string_view::npos) continue;
        const auto port = number<std::uint16_t>(fields[1].substr(colon + 1), 16);
        const auto inode = number<std::uint64_t>(fields[9]);
        if (port && inode) (*listeners_)[*port].insert(*inode);
      }
    }
  }
}

const std::set<std::uint64_t>& ProcessFinder::listeners(std::uint16_t port) {
  if (!listeners_) read_listeners();
  return (*listeners_)[port];
}

bool ProcessFinder::holds_socket(Pid pid, const std::set<std::uint64_t>& inodes) {
  constexpr std::string_view kSocket = "socket:[";
  if (inodes.empty()) return false;
  const std::string folder = folder_of(pid) + "fd";
  bool holds = false;
  const bool read = each_number<unsigned>(folder, [&](unsigned fd) {
    if (holds) return;
    std::string target = link_target(folder + "/" + std::to_string(fd));
    if (!target.starts_with(kSocket) || !target.ends_with(']')) return;
    target.pop_back();
    const auto inode = number<std::uint64_t>(std::string_view(target).substr(kSocket.size()));
    holds = inode && inodes.contains(*inode);
  });
  if (!read && errno == EACCES) ++unseen_;
  return holds;
}

bool ProcessFinder::matches(Pid pid, const TargetName& name) {
  const auto in_cgroup = [&](auto matches_text) {
    const auto cgroup = read_proc_file(folder_of(pid) + "cgroup", kMostFile);
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
      return holds_socket(pid, listeners(number<std::uint16_t>(name.word).value_or(0)));
    case NamedBy::kContainer:
      return is_in_container(pid, name.word);
    case NamedBy::kCgroup:
      return in_cgroup([&](const std::string& text) { return is_in_group(text, name.word); });
  }
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
  const std::vector<Pid> pids = all_pids();
  seen_.clear();
  found_.clear();
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
      if (matches(pid, name) && counts(pid)) match.pids.push_back(pid);
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
  for (const Pid pid : all_pids()) {
    const auto before = seen_.find(pid);
    const auto since = seen[pid] = before == seen_.end() ? now : before->second;
    if (before == seen_.end()) found_.erase(pid);  // the number belongs to another process now
    if (found_.contains(pid) || (!full && now - since > kYoung)) continue;
    if (!wanted(pid) || !counts(pid)) continue;
    found_.insert(pid);
    fresh.push_back(pid);
  }
  seen_ = std::move(seen);
  return fresh;
}

// The words that this kind of name could have been.
std::set<std::string> ProcessFinder::known_words(NamedBy by) {
  std::set<std::string> words;
  for (const Pid pid : all_pids()) {
    const std::string folder = folder_of(pid);
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
      text = typed + ": no process runs in the unit " + shown(whole_unit(name.word)) +
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
      text = typed + ": no process is called that" + suggestions(name.word, known, false);
  }
  return {ErrorCode::kNotFound, text};
}

Error ProcessFinder::no_listener(const TargetName& name) {
  const bool open = !listeners(number<std::uint16_t>(name.word).value_or(0)).empty();
  if (open && unseen_ != 0) {
    return {ErrorCode::kPermission,
            name.typed() +
                ": something listens there, and labelscope may not see which process "
                "(the open files of " +
                counted(unseen_, "process", "processes") +
                " may not be read): run it as root, or with CAP_SYS_PTRACE"};
  }
  if (open) {
    return {ErrorCode::kNotFound,
            name.typed() +
                ": something listens there that is no process which labelscope can "
                "see: the kernel, or a process of another pid namespace"};
  }
  // The nearest ports are shown, in their order.
  const int wanted = number<std::uint16_t>(name.word).value_or(0);
  std::vector<int> ports;
  for (const auto& [port, inodes] : *listeners_) {
    if (!inodes.empty()) ports.push_back(port);
  }
  std::ranges::sort(ports, {}, [&](int port) { return std::tuple(std::abs(port - wanted), port); });
  ports.resize(std::min(ports.size(), kMostSuggested));
  std::ranges::sort(ports);
  std::string text = name.typed() + ": nothing listens on this TCP port";
  for (std::size_t i = 0; i < ports.size(); ++i) {
    text += (i == 0 ? "; there are listeners on " : ", ") + std::to_string(ports[i]);
  }
  return {ErrorCode::kNotFound, text};
}

void say_waiting(const std::vector<TargetName>& names, const Say& say) {
  for (const TargetName& name : names) {
    if (name.by == NamedBy::kWaitFor) say("Waiting for " + shown(name.word));
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
        without_middle(listed, kMostShown) + ")");
  }
  return pids;
}

}  // namespace labelscope::cli
