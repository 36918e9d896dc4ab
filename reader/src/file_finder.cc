// A path out of a core file is a stranger's text. Below a system root it is resolved as if that
// were the root (openat2 with RESOLVE_IN_ROOT), so that neither ".." nor an absolute link leaves
// it.
#include "file_finder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "labelscope/regular_file.h"

namespace labelscope {
namespace {

// How many files of the right name and the wrong content a message tells of.
constexpr std::size_t kMaxReasons = 4;

// How the kernel marks a file that has no name any more: there may be a copy of it.
std::string without_deleted(std::string path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

bool climbs(const std::string& path) {
  return path.find("/../") != std::string::npos || path.ends_with("/..");
}

Result<UniqueFd> open_below(const std::string& root, const std::string& path) {
  const UniqueFd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return system_error(errno, "cannot be opened");
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd place(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof how)));
  if (place.valid()) return open_regular_file(place);
  // Kernels before 5.6 do not have it, and filters of system calls may not know it.
  if ((errno == ENOSYS || errno == EPERM) && !climbs(path)) return open_regular_file(root + path);
  return system_error(errno, "cannot be opened");
}

std::vector<std::string> build_id_paths(const std::string& id) {
  if (id.size() < 3) return {};
  const std::string name = ".build-id/" + id.substr(0, 2) + "/" + id.substr(2);
  return {"/usr/lib/debug/" + name, "/usr/lib/" + name, "/usr/lib/debug/" + name + ".debug"};
}

}  // namespace

class FileFinder::Search {
 public:
  explicit Search(const std::function<Status(const UniqueFd&)>& fits) : fits_(fits) {}

  // True when the search is over.
  bool offer(const std::string& name, Result<UniqueFd> fd) {
    // That there is none of the name is not worth telling: it is looked for in many places.
    if (!fd) return fd.error().code == ErrorCode::kNotFound ? false : refuse(name, fd.error());
    if (Status status = fits_(*fd); !status) return refuse(name, status.error());
    found_ = *std::move(fd);
    return true;
  }

  Result<UniqueFd> result(const WantedFile& wanted, const std::string& where) {
    if (found_.valid()) return std::move(found_);
    std::string text = "not found (" + where + ")";
    if (wanted.build_id.empty() && refused_ == 0) text += "; its build ID is not in the core";
    text += reasons_;
    if (refused_ > kMaxReasons) {
      text += "; and " + std::to_string(refused_ - kMaxReasons) + " more that do not fit";
    }
    return Error{ErrorCode::kNotFound, std::move(text)};
  }

 private:
  bool refuse(const std::string& name, const Error& error) {
    if (++refused_ <= kMaxReasons) reasons_ += "; " + name + ": " + error.context;
    return false;
  }

  const std::function<Status(const UniqueFd&)>& fits_;
  UniqueFd found_;
  std::size_t refused_ = 0;
  std::string reasons_;
};

FileFinder::FileFinder(const CoreOptions& options)
    : executable_(options.executable), sysroots_(options.sysroots) {
  if (sysroots_.empty()) sysroots_.emplace_back("/");
  for (const std::string& directory : options.file_directories)
    directories_.emplace_back(directory);
}

Result<UniqueFd> FileFinder::find(const WantedFile& wanted,
                                  const std::function<Status(const UniqueFd&)>& fits) {
  Search search(fits);
  const std::string path = without_deleted(wanted.path);
  const auto look = [&] {
    if (wanted.main_executable && !executable_.empty() &&
        search.offer(executable_, open_regular_file(executable_))) {
      return;
    }
    std::vector<std::string> below = build_id_paths(wanted.build_id);
    if (path.starts_with('/')) below.insert(below.begin(), path);
    for (const std::string& root : sysroots_) {
      for (const std::string& name : below) {
        if (search.offer(root == "/" ? name : root + name, open_below(root, name))) return;
      }
    }
    std::vector<std::string> names{path.substr(path.rfind('/') + 1)};
    if (!wanted.build_id.empty()) {
      names.push_back(wanted.build_id);
      names.push_back(wanted.build_id + ".debug");
    }
    for (FileIndex& directory : directories_) {
      for (const std::string& name : names) {
        for (const std::string& found : directory.named(name)) {
          if (search.offer(found, open_regular_file(found))) return;
        }
      }
    }
    if (wanted.build_id.empty()) return;
    for (FileIndex& directory : directories_) {
      for (const std::string& found : directory.with_build_id(wanted.build_id)) {
        if (search.offer(found, open_regular_file(found))) return;
      }
    }
  };
  look();
  std::string where = "looked below";
  for (const std::string& root : sysroots_) where += " " + root;
  if (!directories_.empty()) {
    where += " and in " + std::to_string(directories_.size()) +
             (directories_.size() == 1 ? " directory of files" : " directories of files");
  }
  return search.result(wanted, where);
}

}  // namespace labelscope
