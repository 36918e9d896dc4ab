#include "cli/record/group_members.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "cli/process/cgroup_mounts.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostGroups = 1024;

}  // namespace

std::optional<std::vector<Pid>> processes_of_group(const std::string& folder) {
  std::vector<Pid> found;
  std::vector<std::filesystem::path> folders{folder};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (folders.size() > kMostGroups) return std::nullopt;
    std::istringstream pids(kernel_text(folders[i] / "cgroup.procs"));
    for (std::int32_t pid = 0; pids >> pid;) found.push_back(Pid{pid});
    std::error_code gone;
    std::filesystem::directory_iterator entry(folders[i], gone);
    if (gone && i == 0) return std::nullopt;
    for (; !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
      std::error_code none;
      if (entry->is_directory(none) && !entry->is_symlink(none)) folders.push_back(entry->path());
    }
  }
  return found;
}

void GroupMembers::look(const std::set<Pid>& recorded, const Knows& knows) {
  if (!doubt_.empty()) return;
  judge_suspects(knows);
  const auto members = processes_of_group(group_.folder());
  if (!members) {
    doubt_ = "it is gone, or has too many groups";
    return;
  }
  const std::set<Pid> present(members->begin(), members->end());
  std::erase_if(children_, [&](Pid pid) { return !present.contains(pid); });
  // A child may stand before its parent.
  std::set<Pid> unknown;
  for (const Pid pid : present) {
    if (!knows(pid) && !children_.contains(pid)) unknown.insert(pid);
  }
  for (bool found = true; found;) {
    found = std::erase_if(unknown, [&](Pid pid) {
              const auto parent = parent_of(pid, proc_);
              const bool is_child = parent && (knows(*parent) || children_.contains(*parent));
              if (is_child) children_.insert(pid);
              return is_child;
            }) != 0;
  }
  suspects_ = std::move(unknown);
  look_for_absent(recorded, present);
}

void GroupMembers::look_last(const std::set<Pid>& recorded, const Knows& knows) {
  if (!doubt_.empty()) return;
  judge_suspects(knows);
  const auto members = processes_of_group(group_.folder());
  if (members) look_for_absent(recorded, {members->begin(), members->end()});
}

void GroupMembers::judge_suspects(const Knows& knows) {
  for (const Pid pid : std::exchange(suspects_, {})) {
    if (!knows(pid)) doubt(pid, "was in it and was not recorded");
  }
}

void GroupMembers::look_for_absent(const std::set<Pid>& recorded, const std::set<Pid>& present) {
  for (const Pid pid : recorded) {
    // It may have moved within the group, or have ended, while the list was read.
    if (!present.contains(pid) && !group_.has(pid, proc_) && !has_ended(pid, proc_))
      doubt(pid, "is recorded and was not in it all the time");
  }
}

void GroupMembers::doubt(Pid pid, const char* what) {
  if (doubt_.empty()) doubt_ = "process " + std::to_string(raw(pid)) + " " + what;
}

}  // namespace labelscope::cli
