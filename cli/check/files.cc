// A check that looked at nothing must not look like one that found nothing: whoever names a file
// or a directory means that there are labels to be checked. So each directory is walked by itself;
// one that has nothing but what was checked before, under another name, has something all the same.
#include "cli/check/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/inspect/file_walk.h"
#include "labelscope/plan.h"

namespace labelscope::cli {
namespace {

constexpr const char* kNoLabels =
    "publishes no labels: it defines neither custom_labels_abi_version nor "
    "custom_labels_current_set, so there is nothing to check";

Error nothing_published(const FileInspection& seen) {
  if (seen.source != LS_SOURCE_CUSTOM_LABELS) {
    return Error{ErrorCode::kUnsupported,
                 "publishes " + std::string(names_of(seen.source).name) +
                     ", which has no rules here: labelscope inspect tells whether it can be read"};
  }
  std::string why = kNoLabels;
  if (seen.imports_variable) {
    why += " (it uses the labels of a library: check that library)";
  } else if (!seen.has_symtab && !seen.has_dynamic_symbols) {
    why += " (it has no symbols at all: it is linked statically and stripped)";
  }
  return Error{ErrorCode::kNotFound, std::move(why)};
}

// Whether a process that loads it knows it by a name for publishers.
bool named_as_publisher(const std::string& path) {
  return is_publisher_name(path) || is_publisher_name(mapped_path(path));
}

bool is_empty(const UniqueFd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 && about.st_size == 0;
}

using Inode = std::pair<dev_t, ino_t>;

Inode inode_of(const UniqueFd& file) {
  struct stat about {};
  ::fstat(file.get(), &about);
  return {about.st_dev, about.st_ino};
}

bool is_directory(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

class FileCheckRun {
 public:
  explicit FileCheckRun(CheckReport& report) : report_(report) {}

  void check(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    std::vector<std::string> directories;
    for (const std::string& path : paths) {
      (is_directory(path) ? directories : files).push_back(path);
    }
    walk(files);
    for (const std::string& directory : directories) {
      if (walk({directory})) continue;
      report_.problems.push_back(
          {directory,
           {ErrorCode::kNotFound, "no file below it publishes labels: nothing to check"}});
    }
  }

 private:
  // True if something that publishes, or should, was among them.
  bool walk(const std::vector<std::string>& paths) {
    bool any = false;
    FileWalk walk;
    walk.use = [&](const FoundFile& found, UniqueFd fd) {
      const Inode inode = inode_of(fd);
      const auto known = told_.find(inode);
      const bool again = known != told_.end() && !found.named;
      const bool told = again ? known->second : look_at(found, std::move(fd));
      told_[inode] = told;
      any |= told;
    };
    walk.problem = [&](const FoundFile& found, Error error) {
      any |= cannot_check(found, std::move(error), false);
    };
    walk.run(paths);
    return any;
  }

  // These return whether it publishes, or should.
  bool look_at(const FoundFile& found, UniqueFd fd) {
    const bool elf = is_elf(fd);
    // A publisher for another system may have the same name, but not without a byte in it.
    if (!elf && !found.named && !(is_empty(fd) && named_as_publisher(found.path))) return false;
    auto seen = inspect_file(std::move(fd), mapped_path(found.path));
    if (!seen) return cannot_check(found, std::move(seen).error(), elf);
    if (seen->rules.empty()) {
      if (found.named) report_.problems.push_back({found.path, nothing_published(*seen)});
      return false;
    }
    report_.subjects.push_back(checked_file(found.path, *std::move(seen)));
    return true;
  }

  bool cannot_check(const FoundFile& found, Error error, bool elf) {
    // What is called a publisher is meant to be one; objects and other processors' files are
    // nobody's mistake.
    const bool unsupported = elf && error.code == ErrorCode::kUnsupported;
    if (found.named || (!unsupported && named_as_publisher(found.path))) {
      report_.problems.push_back({found.path, std::move(error)});
      return true;
    }
    if (!unsupported) report_.remarks.push_back(found.path + " was passed over: " + error.context);
    return false;
  }

  CheckReport& report_;
  std::map<Inode, bool> told_;  // of files that were looked at
};

}  // namespace

CheckedSubject checked_file(const std::string& path, FileInspection seen) {
  CheckedSubject subject{path, std::move(seen.rules), {}};
  for (Finding& finding : seen.findings) {
    if (finding.rule == RuleId::kNone) continue;
    subject.diagnostics.push_back({std::move(finding), path});
  }
  std::ranges::stable_sort(subject.diagnostics, {}, &Diagnostic::rule);
  return subject;
}

void check_files(const std::vector<std::string>& paths, CheckReport& report) {
  FileCheckRun(report).check(paths);
}

}  // namespace labelscope::cli
