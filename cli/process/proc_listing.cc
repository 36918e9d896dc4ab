#include "cli/process/proc_listing.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <memory>

#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

using Folder = std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })>;

// Calls `take` with the name of each entry that is a number. Returns false, with errno, if the
// folder cannot be opened.
template <class T, class Take>
bool each_number(const std::string& path, Take take) {
  const Folder folder(::opendir(path.c_str()));
  if (!folder) return false;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const auto value = whole_number<T>(entry->d_name)) take(*value);
  }
  return true;
}

}  // namespace

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

std::vector<Pid> ProcListing::pids() const {
  std::vector<Pid> pids;
  each_number<std::int32_t>(proc_, [&](std::int32_t pid) { pids.push_back(Pid{pid}); });
  std::ranges::sort(pids);
  return pids;
}

std::string ProcListing::folder_of(Pid pid) const {
  return proc_ + "/" + std::to_string(raw(pid)) + "/";
}

std::string ProcListing::living_folder_of(Pid pid) const {
  const auto lives = [](const std::string& folder) {
    const auto stat = read_thread_stat(folder + "stat");
    return stat && !has_ended(stat->state);
  };
  std::string folder = folder_of(pid);
  if (lives(folder)) return folder;
  std::string other;
  each_number<std::int32_t>(folder + "task", [&](std::int32_t tid) {
    std::string thread = folder + "task/" + std::to_string(tid) + "/";
    if (other.empty() && lives(thread)) other = std::move(thread);
  });
  return other;
}

std::optional<std::vector<std::string>> ProcListing::open_files(Pid pid) const {
  const std::string folder = living_folder_of(pid) + "fd";
  std::vector<std::string> files;
  const bool read = each_number<unsigned>(folder, [&](unsigned fd) {
    files.push_back(link_target(folder + "/" + std::to_string(fd)));
  });
  if (!read) return std::nullopt;
  return files;
}

}  // namespace labelscope::cli
