#include "cli/process/frozen_group.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/process/cgroup.h"
#include "cli/process/proc_listing.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::string_view kFreezer = "freezer";  // the controller of version 1

std::string text_of(const std::string& path) {
  auto text = read_proc_file(path, kMostText);
  return text ? *std::move(text) : std::string();
}

bool has_line(std::string_view text, std::string_view line) {
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find('\n'));
    if (first == line) return true;
    text.remove_prefix(std::min(first.size() + 1, text.size()));
  }
  return false;
}

// A group is frozen with all groups below it.
bool is_frozen(const std::string& folder, bool is_unified) {
  return is_unified ? has_line(text_of(folder + "/cgroup.events"), "frozen 1")
                    : has_line(text_of(folder + "/freezer.state"), "FROZEN");
}

bool was_frozen_itself(const std::string& folder, bool is_unified) {
  return has_line(text_of(folder + (is_unified ? "/cgroup.freeze" : "/freezer.self_freezing")),
                  "1");
}

// The kernel's function in which a frozen thread waits.
bool waits_frozen(const std::string& wchan) {
  return wchan == "do_freezer_trap" || wchan == "__refrigerator";
}

}  // namespace

std::string FrozenGroup::thaw() const {
  if (folder.empty()) return {};
  return is_unified ? "echo 0 >" + folder + "/cgroup.freeze"
                    : "echo THAWED >" + folder + "/freezer.state";
}

std::optional<FrozenGroup> frozen_group_of(Pid pid, const std::string& proc) {
  const std::string own = ProcListing(proc).folder_of(pid);
  const std::string groups = text_of(own + "cgroup");
  std::optional<FrozenGroup> found;
  for_each_mount(text_of(proc + "/self/mountinfo"), [&](const Mount& mount) {
    const bool is_unified = mount.type == "cgroup2";
    const bool has_freezer =
        is_unified || (mount.type == "cgroup" && has_controller(mount.options, kFreezer));
    if (found || mount.root != "/" || !has_freezer) return;
    std::string group = group_of_controller(groups, is_unified ? "" : kFreezer);
    const std::string top(mount.folder);
    if (group.size() <= 1 || !is_frozen(top + group, is_unified)) return;
    found = FrozenGroup{top + group, is_unified};
    for (; group.size() > 1 && group.starts_with('/'); group.erase(group.rfind('/'))) {
      if (!was_frozen_itself(top + group, is_unified)) continue;
      found->folder = top + group;
      break;
    }
  });
  if (!found && waits_frozen(text_of(own + "wchan"))) found.emplace();
  return found;
}

}  // namespace labelscope::cli
