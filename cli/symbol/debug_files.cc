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

// Returns whether the text is only the name of a file in a folder.
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
UniqueFd open_without_links(int folder, const char* path, std::uint64_t flags,
                            std::uint64_t resolve = 0) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how)));
}

// Returns whether only root and the user of labelscope can put another file there.
bool is_trusted(const UniqueFd& folder) {
  struct stat status {};
  return ::fstat(folder.get(), &status) == 0 &&
         (status.st_uid == 0 || status.st_uid == ::geteuid()) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

// Goes from place to place, until a file is there that nobody has refused yet.
class DebugFiles::Search {
 public:
  Search(std::uint32_t refused, const UniqueFd& program, const ProcessRoot* root)
      : to_skip_(refused), root_(root) {
    ::fstat(program.get(), &program_);
  }

  bool is_over() const { return found_.file.valid(); }
  // There is nothing more that was refused before.
  bool is_past_refused() const { return to_skip_ == 0; }
  DebugFile take() { return std::move(found_); }

  void look_at(const std::string& path) {
    if (!is_over()) accept(open_regular_file(path), path);
  }

  const ProcessRoot* root() const { return root_; }

  // In a folder that the program names, or one of its root. Without a root it is one of ours.
  void look_beside(const std::string& folder, const std::string& name) {
    if (is_over()) return;
    const UniqueFd place =
        root_ == nullptr
            ? open_without_links(AT_FDCWD, folder.c_str(), O_PATH | O_DIRECTORY)
            : open_without_links(root_->folder.get(), folder.c_str(), O_PATH | O_DIRECTORY,
                                 RESOLVE_IN_ROOT);
    if (!place.valid()) return;
    const UniqueFd file = open_without_links(place.get(), name.c_str(), O_PATH | O_NOFOLLOW);
    if (!file.valid()) return;
    std::string path = folder + "/" + name;
    if (root_ != nullptr) path += " of its container";
    if (is_trusted(place)) return accept(open_regular_file(file), path);
    accept(Error{ErrorCode::kPermission,
                 "others can change its folder; --debug-dir names folders to be trusted"},
           path);
  }

 private:
  void accept(Result<UniqueFd> opened, const std::string& path) {
    struct stat status {};
    if (!opened) {
      const Error& error = opened.error();
      if (error.code != ErrorCode::kNotFound && found_.text.empty()) {
        found_.text = path + " was not opened: " + error.context;
      }
    } else if (::fstat(opened->get(), &status) != 0 ||
               (status.st_dev == program_.st_dev && status.st_ino == program_.st_ino)) {
      return;
    } else if (to_skip_ != 0) {
      --to_skip_;
    } else {
      found_ = {*std::move(opened), path};
    }
  }

  std::uint32_t to_skip_;
  const ProcessRoot* root_;
  struct stat program_ {};
  DebugFile found_;
};

DebugFiles::DebugFiles(std::vector<std::string> folders, std::function<bool()> cancelled,
                       Downloading downloading)
    : given_(std::move(folders)),
      folders_(given_),
      debuginfod_(std::move(cancelled)),
      downloading_(std::move(downloading)) {
  folders_.emplace_back(kSystem);
}

void DebugFiles::by_build_id(const std::string& build_id, Search& search) const {
  if (build_id.size() <= 2) return;
  const std::string below = "/.build-id/" + build_id.substr(0, 2);
  const std::string name = build_id.substr(2) + ".debug";
  for (const std::string& folder : folders_)
    search.look_at(std::string(folder).append(below).append("/").append(name));
  if (search.root() != nullptr) search.look_beside(kSystem + below, name);
}

// Searches as gdb(1) does: in the folder of the file itself, and in a copy of the tree of folders.
void DebugFiles::by_name(const std::string& name, const std::string& path, Search& search) const {
  if (!is_plain_name(name)) return;
  for (const std::string& folder : given_)
    search.look_at(std::string(folder).append("/").append(name));
  if (!is_plain_path(path)) return;
  const std::string inner = folder_of(path) + "/" + name;
  for (const std::string& folder : folders_) search.look_at(folder + inner);
  const std::string its = folder_of(search.root() ? search.root()->inside(path) : path);
  if (search.root() != nullptr) search.look_beside(kSystem + its, name);
  for (const char* inside : {"", "/.debug"}) search.look_beside(its + inside, name);
}

// dwz(1) puts what it shares into a folder of its own: ".dwz/PROCESSOR/PACKAGE.debug".
void DebugFiles::shared_by_name(const std::string& name, Search& search) const {
  constexpr std::string_view kFolder = "/.dwz/";
  const std::size_t at = name.rfind(kFolder);
  if (at == std::string::npos || !is_plain_path(name.substr(at))) return;
  const std::string inner = name.substr(at);
  for (const std::string& folder : folders_) search.look_at(folder + inner);
  if (search.root() != nullptr)
    search.look_beside(kSystem + folder_of(inner), std::string(base_name(inner)));
}

std::string DebugFiles::remedy(const std::string& build_id, const std::string& path,
                               const UniqueFd& file, const ProcessRoot* root) {
  const bool servers = Debuginfod::has_servers();
  std::string text =
      build_id.empty() ? "no build ID, and no debug file" : "no debug file of build ID " + build_id;
  text += " in ";
  for (const std::string& folder : folders_) text += folder + ", ";
  if (root != nullptr) text += std::string(kSystem) + " of its container, ";
  text += servers ? "beside it or at DEBUGINFOD_URLS" : "or beside it";
  const std::string package = packages_.of(path, file);
  return text + "; install its debug symbols (" +
         (package.empty() ? "PACKAGE-dbgsym or PACKAGE-debuginfo" : package) +
         (servers ? ")" : ") or set DEBUGINFOD_URLS");
}

DebugFiles::DebugFile DebugFiles::find(const WantedDebugFile& wanted, const std::string& path,
                                       const UniqueFd& file, const ProcessRoot* root,
                                       Servers servers) {
  Search search(wanted.refused, file, root);
  by_build_id(wanted.build_id, search);
  if (wanted.alternate) {
    shared_by_name(wanted.link, search);
    by_name(std::string(base_name(wanted.link)), path, search);
  } else {
    // If the file names none, the debug file has this name by custom.
    by_name(wanted.link.empty() ? std::string(base_name(path)) + ".debug" : wanted.link, path,
            search);
  }
  // What a server has is the last; if that was refused, nothing is left.
  if (search.is_over() || !search.is_past_refused()) return search.take();
  if (servers == Servers::kNot) {
    DebugFile none = search.take();
    none.skipped_servers = !none.file.valid() && Debuginfod::has_servers();
    return none;
  }
  Debuginfod::Answer downloaded =
      debuginfod_.find(wanted.build_id, [&](std::size_t done, std::size_t all) {
        if (downloading_) downloading_(path, done, all);
      });
  if (downloaded.file.valid()) return {std::move(downloaded.file), "what DEBUGINFOD_URLS has"};
  if (!downloaded.why_not.empty()) return {{}, std::move(downloaded.why_not)};
  return search.take();
}

}  // namespace labelscope::cli
