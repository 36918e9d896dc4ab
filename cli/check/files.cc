// A check that looked at nothing must not look like one that found nothing: whoever names a file
// or a directory means that there are labels to be checked.
#include "cli/check/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "cli/inspect/file_walk.h"
#include "labelscope/check_file.h"
#include "labelscope/plan.h"

namespace labelscope::cli {
namespace {

constexpr const char* kNoLabels =
    "publishes no labels: it defines neither custom_labels_abi_version nor "
    "custom_labels_current_set, so there is nothing to check";

Error nothing_published(const FileInspection& seen) {
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
  return is_abi_library_name(path) || is_abi_library_name(mapped_path(path));
}

bool is_empty(const UniqueFd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 && about.st_size == 0;
}

class FileCheckRun {
 public:
  explicit FileCheckRun(CheckReport& report) : report_(report) {}

  void look_at(const FoundFile& found, UniqueFd fd) {
    const bool elf = is_elf(fd);
    // A publisher for another system may have the same name, but not without a byte in it.
    if (!elf && !found.named && !(is_empty(fd) && named_as_publisher(found.path))) return;
    auto checked = check_file(std::move(fd), mapped_path(found.path));
    if (!checked) {
      cannot_check(found, std::move(checked).error(), elf);
      return;
    }
    if (checked->rules.empty()) {
      if (found.named)
        report_.problems.push_back({found.path, nothing_published(checked->inspection)});
      return;
    }
    CheckedSubject subject{found.path, std::move(checked->rules), std::move(checked->diagnostics)};
    for (Diagnostic& diagnostic : subject.diagnostics) diagnostic.subject = found.path;
    report_.subjects.push_back(std::move(subject));
  }

  void cannot_check(const FoundFile& found, Error error, bool elf) {
    if (found.named) {
      report_.problems.push_back({found.path, std::move(error)});
      return;
    }
    // Objects and other processors' files are nobody's mistake.
    if (elf && error.code == ErrorCode::kUnsupported) return;
    // What is called a publisher is meant to be one.
    if (named_as_publisher(found.path)) {
      report_.problems.push_back({found.path, std::move(error)});
      return;
    }
    report_.remarks.push_back(found.path + " was passed over: " + error.context);
  }

 private:
  CheckReport& report_;
};

bool is_directory(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

}  // namespace

void check_files(const std::vector<std::string>& paths, CheckReport& report) {
  FileCheckRun run(report);
  FileWalk walk;
  walk.use = [&](const FoundFile& found, UniqueFd fd) { run.look_at(found, std::move(fd)); };
  walk.problem = [&](const FoundFile& found, Error error) {
    run.cannot_check(found, std::move(error), false);
  };
  walk.run(paths);
  if (!report.subjects.empty()) return;
  for (const std::string& path : paths) {
    const bool known = std::any_of(report.problems.begin(), report.problems.end(),
                                   [&](const CheckProblem& one) { return one.name == path; });
    if (known || !is_directory(path)) continue;
    report.problems.push_back(
        {path, {ErrorCode::kNotFound, "no file below it publishes labels: nothing to check"}});
  }
}

}  // namespace labelscope::cli
