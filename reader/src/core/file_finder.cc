// A path from a core file may be hostile: below a system root it must stay there (regular_file.h).
#include "core/file_finder.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "elf/regular_file.h"

namespace labelscope {
namespace {

// How many files with the right name and the wrong content a message lists.
constexpr std::size_t kMaxReasons = 4;

// Removes the kernel's mark of a file that has no name any more: there may be a copy of it.
std::string without_deleted(std::string path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
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

  // Returns true when the search is over.
  bool offer(const std::string& name, Result<UniqueFd> fd) {
    // A missing file is not reported, because the file is looked for in many places.
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
        if (search.offer(root == "/" ? name : root + name, open_regular_file_below(root, name)))
          return;
      }
    }
    std::vector<std::string> names{std::string(base_name(path))};
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
  if (std::ranges::any_of(directories_, [](const FileIndex& one) { return one.is_cut(); })) {
    where += ", in the first " + std::to_string(FileIndex::kMaxFiles) +
             " files of one: name a folder further down";
  }
  return search.result(wanted, where);
}

}  // namespace labelscope
