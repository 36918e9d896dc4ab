#include "cli/profile/process_root.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>

namespace labelscope::cli {
namespace {

// Machines run some hundred containers, and each root takes a descriptor.
constexpr std::size_t kMostRoots = 256;

std::string path_of(const UniqueFd& folder) {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(folder.get())).c_str(),
                                  path.data(), path.size());
  return size <= 0 ? "/" : std::string(path.data(), static_cast<std::size_t>(size));
}

}  // namespace

std::string ProcessRoot::inside(const std::string& shown) const {
  const bool is_below =
      path.size() > 1 && shown.starts_with(path) && shown.substr(path.size()).starts_with('/');
  return is_below ? shown.substr(path.size()) : shown;
}

std::shared_ptr<const ProcessRoot> ProcessRoots::of(const Target& process) {
  auto folder = process.open_root();
  struct stat its {};
  struct stat own {};
  if (!folder || ::fstat(folder->get(), &its) != 0 || ::stat("/", &own) != 0) return nullptr;
  if (its.st_dev == own.st_dev && its.st_ino == own.st_ino) return nullptr;
  const std::pair key(its.st_dev, its.st_ino);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() == kMostRoots) return nullptr;
  ProcessRoot root{*std::move(folder), {}};
  root.path = path_of(root.folder);
  return known_[key] = std::make_shared<const ProcessRoot>(std::move(root));
}

}  // namespace labelscope::cli
