#include "cli/process/proc_listing.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <memory>

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

std::optional<std::vector<std::string>> ProcListing::open_files(Pid pid) const {
  const std::string folder = folder_of(pid) + "fd";
  std::vector<std::string> files;
  const bool read = each_number<unsigned>(folder, [&](unsigned fd) {
    files.push_back(link_target(folder + "/" + std::to_string(fd)));
  });
  if (!read) return std::nullopt;
  return files;
}

}  // namespace labelscope::cli
