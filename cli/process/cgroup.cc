// One line of /proc/PID/cgroup is "hierarchy:controllers:path". (A path may have colons, too.)
#include "cli/process/cgroup.h"

#include <algorithm>
#include <array>
#include <vector>

#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kStaticPodDigits = 32;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool all_hex(std::string_view text) { return std::ranges::all_of(text, is_hex); }

// Returns whether the text is a UUID with "-" or "_" between its parts.
bool is_uuid(std::string_view text) {
  if (text.size() != kUuidLength) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i == 8 || i == 13 || i == 18 || i == 23;
    if (between ? text[i] != '-' && text[i] != '_' : !is_hex(text[i])) return false;
  }
  return true;
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

// Takes the container's ID from a component. (conmon, which watches over a container of podman or
// CRI-O, is outside of it, in a cgroup that is named after it.)
std::string_view container_in(std::string_view component) {
  component = without_suffix(component, ".scope");
  if (component.size() < kIdDigits || component.find("conmon") != std::string_view::npos) return {};
  const std::size_t start = component.size() - kIdDigits;
  const bool begins = start == 0 || component[start - 1] == '-' || component[start - 1] == ':';
  const std::string_view id = component.substr(start);
  return begins && all_hex(id) ? id : std::string_view{};
}

std::string_view pod_in(std::string_view component) {
  constexpr std::string_view kPod = "pod";
  for (std::size_t at = component.find(kPod); at != std::string_view::npos;
       at = component.find(kPod, at + 1)) {
    if (at != 0 && component[at - 1] != '-') continue;
    std::string_view uid = component.substr(at + kPod.size());
    uid = uid.substr(0, uid.find(':'));
    uid = without_suffix(uid, ".slice");
    if (is_uuid(uid) || (uid.size() == kStaticPodDigits && all_hex(uid))) return uid;
  }
  return {};
}

// The units that programs run in.
bool is_unit(std::string_view component) {
  for (const std::string_view suffix : {".service", ".scope"}) {
    if (component.size() > suffix.size() && component.ends_with(suffix)) return true;
  }
  return false;
}

bool is_slice(std::string_view component) {
  constexpr std::string_view kSuffix = ".slice";
  return component.size() > kSuffix.size() && component.ends_with(kSuffix);
}

// Calls `take` with the controllers and the path of each line of /proc/PID/cgroup until it returns
// true; returns whether it has. Version 2 has no controllers there.
template <class Take>
bool any_line(std::string_view cgroup, Take take) {
  while (!cgroup.empty()) {
    const std::string_view line = cgroup.substr(0, cgroup.find('\n'));
    cgroup.remove_prefix(std::min(line.size() + 1, cgroup.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second != std::string_view::npos &&
        take(line.substr(first + 1, second - first - 1), line.substr(second + 1)))
      return true;
  }
  return false;
}

template <class Take>
bool any_path(std::string_view cgroup, Take take) {
  return any_line(cgroup, [&](std::string_view, std::string_view path) { return take(path); });
}

template <class Take>
bool any_component(std::string_view path, Take take) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (!part.empty() && take(part)) return true;
  }
  return false;
}

bool is_below(std::string_view path, std::string_view group) {
  return path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/');
}

void look_into(std::string_view path, CgroupNames& names) {
  CgroupNames found;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    if (const auto id = container_in(component); !id.empty()) found.container = id;
    if (const auto uid = pod_in(component); !uid.empty()) found.pod = uid;
    if (is_unit(component)) found.unit = component;
    start = end + 1;
  }
  std::ranges::replace(found.pod, '_', '-');
  if (names.container.empty()) names.container = std::move(found.container);
  if (names.pod.empty()) names.pod = std::move(found.pod);
  if (names.unit.empty()) names.unit = std::move(found.unit);
  if (names.path.empty()) names.path = path;
}

}  // namespace

CgroupNames parse_cgroup(std::string_view text) {
  std::array<std::vector<std::string_view>, 3> by_rank;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    // The kernel appends this if a cgroup was removed while the process was in it.
    const std::string_view path = without_suffix(line.substr(second + 1), " (deleted)");
    // On a system with both versions, the path of version 2 may be empty.
    if (path.size() <= 1) continue;
    const std::size_t rank = controllers.empty() ? 0 : controllers == "name=systemd" ? 1 : 2;
    by_rank[rank].push_back(path);
  }
  CgroupNames names;
  for (const auto& paths : by_rank) {
    for (const std::string_view path : paths) look_into(path, names);
  }
  return names;
}

std::string whole_unit(const std::string& word) {
  return is_unit(word) || is_slice(word) ? word : word + ".service";
}

bool is_in_unit(std::string_view text, std::string_view unit) {
  return any_path(text, [&](std::string_view path) {
    return any_component(path, [&](std::string_view part) {
      return part == unit || (part.starts_with('_') && part.substr(1) == unit);
    });
  });
}

bool is_in_group(std::string_view text, std::string_view group) {
  return any_path(text, [&](std::string_view path) { return is_below(path, group); });
}

std::set<std::string> units_in(std::string_view text) {
  std::set<std::string> units;
  any_path(text, [&](std::string_view path) {
    return any_component(path, [&](std::string_view part) {
      if (is_unit(part) || is_slice(part)) units.emplace(part);
      return false;
    });
  });
  return units;
}

std::set<std::string> groups_in(std::string_view text) {
  std::set<std::string> groups;
  any_path(text, [&](std::string_view path) {
    if (path.size() > 1) groups.emplace(path);
    return false;
  });
  return groups;
}

bool has_controller(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == controller) return true;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return false;
}

std::string group_of_controller(std::string_view text, std::string_view controller) {
  std::string group;
  any_line(text, [&](std::string_view controllers, std::string_view path) {
    const bool found =
        controller.empty() ? controllers.empty() : has_controller(controllers, controller);
    if (found) group = path;
    return found;
  });
  return group;
}

std::string group_of_folder(std::string folder, std::string_view mountinfo) {
  if (!folder.starts_with('/')) folder.insert(0, "/");
  std::size_t longest = 0;
  for_each_mount(mountinfo, [&](const Mount& mount) {
    if (!mount.type.starts_with("cgroup")) return;
    if (mount.folder.size() > longest && is_below(folder, mount.folder)) {
      longest = mount.folder.size();
    }
  });
  folder.erase(0, longest);
  while (folder.ends_with('/')) folder.pop_back();
  return folder;
}

}  // namespace labelscope::cli
