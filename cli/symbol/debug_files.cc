#include "cli/symbol/debug_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "cli/text/text.h"
#include "elf/regular_file.h"

namespace labelscope::cli {
namespace {

constexpr const char* kSystem = "/usr/lib/debug";

// Whether the text is only the name of a file in a folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= NAME_MAX &&
         name.find('/') == std::string::npos;
}

// The kernel writes such paths; a core file may have any.
bool is_plain_path(const std::string& path) {
  return path.starts_with('/') && (path + "/").find("/../") == std::string::npos;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Opens a path that goes through no symbolic link. Fails if it does, or if the kernel cannot check
// that (before Linux 5.6).
UniqueFd open_without_links(int folder, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how)));
}

// Whether only root and the user of labelscope can put another file there.
bool is_trusted(const UniqueFd& folder) {
  struct stat status {};
  return ::fstat(folder.get(), &status) == 0 &&
         (status.st_uid == 0 || status.st_uid == ::geteuid()) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Returns false if the search must go on.
bool take(Result<UniqueFd> opened, const std::string& path, DebugFiles::Found& found) {
  if (opened) {
    found = {*std::move(opened), {}};
    return true;
  }
  const Error& error = opened.error();
  if (error.code != ErrorCode::kNotFound && found.why_not.empty()) {
    found.why_not = "its debug file " + path + " was not opened: " + error.context;
  }
  return false;
}

bool take_beside(const std::string& folder, const std::string& name, DebugFiles::Found& found) {
  const UniqueFd place = open_without_links(AT_FDCWD, folder.c_str(), O_PATH | O_DIRECTORY);
  if (!place.valid()) return false;
  const UniqueFd file = open_without_links(place.get(), name.c_str(), O_PATH | O_NOFOLLOW);
  if (!file.valid()) return false;
  const std::string path = folder + "/" + name;
  if (!is_trusted(place)) {
    return take(Error{ErrorCode::kPermission,
                      "others can change its folder; --debug-dir names folders to be trusted"},
                path, found);
  }
  return take(open_regular_file(file), path, found);
}

}  // namespace

DebugFiles::DebugFiles(std::vector<std::string> folders, std::function<bool()> cancelled,
                       Downloading downloading)
    : given_(std::move(folders)),
      folders_(given_),
      debuginfod_(std::move(cancelled)),
      downloading_(std::move(downloading)) {
  folders_.emplace_back(kSystem);
}

DebugFiles::Found DebugFiles::by_build_id(const std::string& build_id) const {
  Found found;
  if (build_id.size() <= 2) return found;
  const std::string name =
      "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
  for (const std::string& folder : folders_) {
    if (take(open_regular_file(folder + name), folder + name, found)) break;
  }
  return found;
}

// Searches as gdb(1) does: in the folder of the file itself, and in a copy of the tree of folders.
DebugFiles::Found DebugFiles::by_name(const std::string& name, const std::string& path) const {
  Found found;
  if (!is_plain_name(name)) return found;
  for (const std::string& folder : given_) {
    const std::string here = folder + "/" + name;
    if (take(open_regular_file(here), here, found)) return found;
  }
  if (!is_plain_path(path)) return found;
  for (const std::string& folder : folders_) {
    const std::string here = folder + folder_of(path) + "/" + name;
    if (take(open_regular_file(here), here, found)) return found;
  }
  for (const char* inside : {"", "/.debug"}) {
    if (take_beside(folder_of(path) + inside, name, found)) return found;
  }
  return found;
}

// dwz(1) puts what it shares into a folder of its own: ".dwz/PROCESSOR/PACKAGE.debug".
DebugFiles::Found DebugFiles::shared_by_name(const std::string& name) const {
  constexpr std::string_view kFolder = "/.dwz/";
  Found found;
  const std::size_t at = name.rfind(kFolder);
  if (at == std::string::npos || !is_plain_path(name.substr(at))) return found;
  for (const std::string& folder : folders_) {
    const std::string here = folder + name.substr(at);
    if (take(open_regular_file(here), here, found)) break;
  }
  return found;
}

std::string DebugFiles::remedy(const std::string& build_id, const std::string& path,
                               const UniqueFd& file) {
  const bool servers = Debuginfod::has_servers();
  std::string text =
      build_id.empty() ? "no build ID, and no debug file" : "no debug file of build ID " + build_id;
  text += " in ";
  for (const std::string& folder : folders_) text += folder + ", ";
  text += servers ? "beside it or at DEBUGINFOD_URLS" : "or beside it";
  const std::string package = packages_.of(path, file);
  return text + "; install its debug symbols (" +
         (package.empty() ? "PACKAGE-dbgsym or PACKAGE-debuginfo" : package) +
         (servers ? ")" : ") or set DEBUGINFOD_URLS");
}

DebugFiles::Found DebugFiles::find(const WantedDebugFile& wanted, const std::string& path) {
  Found found = by_build_id(wanted.build_id);
  if (found.file.valid()) return found;
  // If the file names none, the debug file has this name by custom.
  const std::string name =
      wanted.link.empty() ? std::string(base_name(path)) + ".debug" : wanted.link;
  Found other = wanted.alternate ? shared_by_name(wanted.link) : by_name(name, path);
  if (other.file.valid()) return other;
  if (found.why_not.empty()) found.why_not = std::move(other.why_not);
  Debuginfod::Found downloaded =
      debuginfod_.find(wanted.build_id, [&](std::size_t done, std::size_t all) {
        if (downloading_) downloading_(path, done, all);
      });
  if (downloaded.file.valid() || !downloaded.why_not.empty()) {
    return {std::move(downloaded.file), std::move(downloaded.why_not)};
  }
  return found;
}

}  // namespace labelscope::cli
