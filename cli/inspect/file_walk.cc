// Walks with fts(3), which recognizes loops and needs only one descriptor, however deep the tree
// is.
//
// Named files come first. If such a file is also below a named directory, it is left out there.
#include "cli/inspect/file_walk.h"

#include <elf.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "elf/regular_file.h"

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

  void visit_named(const std::vector<std::string>& paths) {
    std::vector<std::string> directories;
    for (const std::string& path : paths) {
      struct stat about {};
      if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
        directories.push_back(path);
      } else {
        visit_file({path, true});
      }
    }
    for (const std::string& directory : directories) visit_tree(directory);
  }

 private:
  void visit_tree(const std::string& path) {
    if (in_kernel_file_system(path)) {
      walk_.problem({path, true}, Error{ErrorCode::kUnsupported, "has no files that are stored"});
      return;
    }
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
      if (entry->fts_info == FTS_D && in_kernel_file_system(entry->fts_path)) {
        ::fts_set(tree.get(), entry, FTS_SKIP);
        continue;
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
        return;  // a directory, or neither directory nor file
    }
  }

  // Skips links that lead nowhere or to a directory.
  void visit_link(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode)) visit_file({path, false});
  }

  void visit_file(const FoundFile& found) {
    auto fd = open_regular_file(found.path);
    if (!fd) {
      // A temporary file may be gone before we open it, or another file may have its name.
      const ErrorCode code = fd.error().code;
      const bool expected = code == ErrorCode::kNotFound || code == ErrorCode::kUnsupported;
      if (found.named || !expected) walk_.problem(found, std::move(fd).error());
      return;
    }
    struct stat about {};
    if (::fstat(fd->get(), &about) != 0) {
      walk_.problem(found, system_error(errno, "cannot be read"));
      return;
    }
    const bool first = seen_.insert({about.st_dev, about.st_ino}).second;
    if (first || found.named) walk_.use(found, *std::move(fd));
  }

  const FileWalk& walk_;
  std::set<Inode> seen_;
};

}  // namespace

std::string mapped_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

bool is_elf(const UniqueFd& file) {
  char magic[SELFMAG];
  return ::pread(file.get(), magic, sizeof magic, 0) == static_cast<ssize_t>(sizeof magic) &&
         std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

void FileWalk::run(const std::vector<std::string>& paths) const {
  Walker(*this).visit_named(paths);
}

}  // namespace labelscope::cli
