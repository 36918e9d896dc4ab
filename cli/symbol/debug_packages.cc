#include "cli/symbol/debug_packages.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>

namespace labelscope::cli {
namespace {

// Packages may name /lib for a file in /usr/lib: there, one is a link to the other.
std::size_t hash_of(std::string_view path) {
  constexpr std::string_view kUsr = "/usr";
  for (const std::string_view merged : {"/usr/lib", "/usr/bin/", "/usr/sbin/"}) {
    if (path.starts_with(merged)) path.remove_prefix(kUsr.size());
  }
  return std::hash<std::string_view>{}(path);
}

}  // namespace

// Debian makes -dbgsym packages by itself. Two packages that many programs need are older, and made
// by hand.
std::string debug_package_of(const std::string& package) {
  if (package == "libc6") return "libc6-dbg";
  constexpr std::string_view kPython = "python3.";
  const std::size_t at = package.starts_with("lib") ? 3 : 0;
  if (package.compare(at, kPython.size(), kPython) == 0) {
    std::size_t end = at + kPython.size();
    while (end < package.size() && std::isdigit(static_cast<unsigned char>(package[end]))) ++end;
    return package.substr(at, end - at) + "-dbg";
  }
  return package + "-dbgsym";
}

void DebugPackages::read() {
  is_read_ = true;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() != ".list") continue;
    const std::string name = entry.path().stem().string();
    const auto package = static_cast<std::uint32_t>(packages_.size());
    packages_.push_back(name.substr(0, name.find(':')));  // without the architecture
    std::ifstream list(entry.path());
    for (std::string path; std::getline(list, path);) files_.emplace_back(hash_of(path), package);
  }
  std::sort(files_.begin(), files_.end());
}

std::string DebugPackages::of(const std::string& path, const UniqueFd& file) {
  struct stat here {};
  struct stat used {};
  if (::stat(path.c_str(), &here) != 0 || ::fstat(file.get(), &used) != 0 ||
      here.st_dev != used.st_dev || here.st_ino != used.st_ino) {
    return {};
  }
  if (!is_read_) read();
  const std::size_t hash = hash_of(path);
  const auto found = std::lower_bound(files_.begin(), files_.end(), std::pair(hash, 0U));
  if (found == files_.end() || found->first != hash) return {};
  return debug_package_of(packages_[found->second]);
}

}  // namespace labelscope::cli
