// fts(3) walks: it knows loops, and needs one descriptor however deep a tree is.
#include "cli/inspect/file_walk.h"

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

namespace labelscope::cli {
namespace {

using Inode = std::pair<dev_t, ino_t>;

struct FtsCloser {
  void operator()(FTS* tree) const { ::fts_close(tree); }
};

int by_name(const FTSENT** a, const FTSENT** b) {
  return std::strcmp((*a)->fts_name, (*b)->fts_name);
}

class Walker {
 public:
  explicit Walker(const FileWalk& walk) : walk_(walk) {}

  void visit_named(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) {
      walk_.problem({path, true}, system_error(errno, "cannot be opened"));
    } else if (S_ISDIR(about.st_mode)) {
      visit_tree(path);
    } else {
      visit_file({path, true});
    }
  }

 private:
  void visit_tree(const std::string& path) {
    std::string root = path;
    char* roots[] = {root.data(), nullptr};
    std::unique_ptr<FTS, FtsCloser> tree(
        ::fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name));
    if (!tree) {
      walk_.problem({path, true}, system_error(errno, "cannot be listed"));
      return;
    }
    std::vector<std::string> links;
    for (;;) {
      errno = 0;
      FTSENT* entry = ::fts_read(tree.get());
      if (entry == nullptr) {
        if (errno != 0) walk_.problem({path, false}, system_error(errno, "cannot be listed"));
        break;
      }
      visit_entry(*entry, links);
    }
    for (const std::string& link : links) visit_link(link);
  }

  void visit_entry(const FTSENT& entry, std::vector<std::string>& links) {
    switch (entry.fts_info) {
      case FTS_F:
        visit_file({entry.fts_path, false});
        return;
      case FTS_SL:
        links.emplace_back(entry.fts_path);
        return;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS:
        walk_.problem({entry.fts_path, entry.fts_level == 0},
                      system_error(entry.fts_errno, "cannot be listed"));
        return;
      default:
        return;  // directories, and what is neither file nor directory
    }
  }

  // A link that leads nowhere, or to a directory, is none of our business.
  void visit_link(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode)) visit_file({path, false});
  }

  void visit_file(const FoundFile& found) {
    // Not to wait for the other end of a FIFO that has the name now.
    UniqueFd fd(::open(found.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat about {};
    if (!fd.valid() || ::fstat(fd.get(), &about) != 0) {
      // A temporary file may be gone between its name and its opening.
      if (errno == ENOENT && !found.named) return;
      walk_.problem(found, system_error(errno, "cannot be opened"));
      return;
    }
    if (!S_ISREG(about.st_mode)) {
      if (!found.named) return;
      walk_.problem(found, Error{ErrorCode::kUnsupported, "is no regular file"});
      return;
    }
    if (!seen_.insert({about.st_dev, about.st_ino}).second) return;
    walk_.use(found, std::move(fd));
  }

  const FileWalk& walk_;
  std::set<Inode> seen_;
};

}  // namespace

void FileWalk::run(const std::vector<std::string>& paths) const {
  Walker walker(*this);
  for (const std::string& path : paths) walker.visit_named(path);
}

}  // namespace labelscope::cli
