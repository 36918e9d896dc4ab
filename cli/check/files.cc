// The check of named files. A check that looked at nothing must not look like one that found
// nothing: a user who names a file or a directory expects labels in it. So each directory is walked
// on its own. If it holds only files that were checked before under another name, it is not called
// empty.
#include "cli/check/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "cli/inspect/file_walk.h"
#include "labelscope/inspect.h"
#include "process/startup.h"
#include "sources/custom_labels/rules.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

constexpr const char* kNoLabels =
    "publishes no labels: it defines neither custom_labels_abi_version nor "
    "custom_labels_current_set, so there is nothing to check";

Error nothing_seen(const FileInspection& seen) {
  if (!seen.findings.empty()) {
    return Error{ErrorCode::kUnsupported, finding_clause(seen.findings.front())};
  }
  if (is_readable(seen.verdict)) {
    return Error{ErrorCode::kNotFound, "publishes labels as " +
                                           std::string(find_source(seen.source)->about.name) +
                                           " does, for which there are no rules: nothing to check"};
  }
  std::string why = kNoLabels;
  if (!seen.needs_publishers.empty()) {
    why += "; but it is linked with " + seen.needs_publishers.front() +
           ", which does so for it: check that file, or the program while it runs (labelscope check "
           "-- COMMAND)";
  } else if (seen.imports_variable) {
    why += " (it uses the labels of a library: check that library)";
  } else if (!seen.has_symtab && !seen.has_dynamic_symbols) {
    why += " (it has no symbols at all: it is linked statically and stripped)";
  }
  return Error{ErrorCode::kNotFound, std::move(why)};
}

// Returns whether the reader would take the file for a publisher by its name.
bool named_as_publisher(const std::string& path) {
  return is_publisher_name(path) || is_publisher_name(mapped_path(path));
}

// This is much less than the number of files that a process may have open.
constexpr std::size_t kMaxWaiting = 128;
// While the loader changes its list, one cannot know which files were loaded later; a moment later
// one can. If it is not known after this many attempts, it never will be, and each attempt opens
// every file.
constexpr int kMostQuestions = 100;

using Inode = std::pair<dev_t, ino_t>;

struct stat stat_of(const UniqueFd& file) {
  struct stat about {};
  ::fstat(file.get(), &about);
  return about;
}

bool is_directory(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// Returns the rules that were checked in one file, and what breaks them.
CheckedSubject checked_file(const std::string& path, FileInspection seen) {
  CheckedSubject subject{path, std::move(seen.rules), {}};
  for (Finding& finding : seen.findings) {
    if (finding.rule == RuleId::kNone) continue;
    subject.diagnostics.push_back({std::move(finding), path});
  }
  std::ranges::stable_sort(subject.diagnostics, {}, &Diagnostic::rule);
  return subject;
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
  // Returns true if a file among them publishes, or should.
  bool walk(const std::vector<std::string>& paths) {
    bool any = false;
    FileWalk walk;
    walk.use = [&](const FoundFile& found, UniqueFd fd) {
      const struct stat about = stat_of(fd);
      const Inode inode{about.st_dev, about.st_ino};
      const auto known = publishes_.find(inode);
      const bool again = known != publishes_.end() && !found.named;
      const bool publishes = again ? known->second : look_at(found, std::move(fd));
      publishes_[inode] = publishes;
      any |= publishes;
    };
    walk.problem = [&](const FoundFile& found, Error error) {
      any |= cannot_check(found, std::move(error), false);
    };
    walk.run(paths);
    return any;
  }

  // These return whether the file publishes, or should.
  bool look_at(const FoundFile& found, UniqueFd fd) {
    const bool elf = is_elf(fd);
    // A file with the name of a publisher may be for another system, but it is never empty.
    const bool empty = stat_of(fd).st_size == 0;
    if (!elf && !found.named && !(empty && named_as_publisher(found.path))) return false;
    auto seen = inspect_file(std::move(fd), mapped_path(found.path));
    if (!seen) return cannot_check(found, std::move(seen).error(), elf);
    if (seen->rules.empty()) {
      if (found.named) report_.problems.push_back({found.path, nothing_seen(*seen)});
      return false;
    }
    for (const Finding& finding : seen->findings) {
      if (finding.rule != RuleId::kNone || finding.harm != Harm::kUnreadable) continue;
      report_.problems.push_back({found.path, {ErrorCode::kUnsupported, finding_clause(finding)}});
    }
    report_.subjects.push_back(checked_file(found.path, *std::move(seen)));
    return true;
  }

  bool cannot_check(const FoundFile& found, Error error, bool elf) {
    // A file with the name of a publisher is meant to be one. Objects and files of other processors
    // are no mistake.
    const bool unsupported = elf && error.code == ErrorCode::kUnsupported;
    if (found.named || (!unsupported && named_as_publisher(found.path))) {
      report_.problems.push_back({found.path, std::move(error)});
      return true;
    }
    if (!unsupported) report_.remarks.push_back(found.path + " was passed over: " + error.context);
    return false;
  }

  CheckReport& report_;
  std::map<Inode, bool> publishes_;  // by file that was looked at: whether it publishes
};

}  // namespace

void check_files(const std::vector<std::string>& paths, CheckReport& report) {
  FileCheckRun(report).check(paths);
}

void LoadedFiles::look_at(const LiveProcess& process, const ProcessPlan& plan) {
  auto mappings = process.mappings();
  if (!mappings) return;
  for (const Mapping& mapping : *mappings) {
    if (mapping.file && mapping.executable && files_.count(mapping.file) == 0) {
      open(process, mapping);
    }
  }
  for (const Refusal& refusal : plan.refusals) {
    if (refusal.finding.code != FindingCode::kVersionUnknown) continue;
    for (auto& [id, file] : files_) {
      if (file.path == refusal.path) file.version_in_memory = refusal.finding.text;
    }
  }
  judge_load_time(process, plan);
  if (waiting_ >= kMaxWaiting) judge_waiting();
}

void LoadedFiles::open(const LiveProcess& process, const Mapping& mapping) {
  auto fd = process.open_file(mapping);
  if (!fd && fd.error().code == ErrorCode::kVanished) return;
  File& file = files_[mapping.file];
  file.path = mapping.path;
  if (fd) {
    file.waiting = *std::move(fd);
    ++waiting_;
  } else if (is_publisher_name(mapping.path)) {
    problems_.push_back({mapping.path, fd.error()});
  }
}

void LoadedFiles::judge_waiting() {
  for (auto& [id, file] : files_) {
    if (!file.waiting.valid()) continue;
    auto seen = inspect_file(std::move(file.waiting), file.path);
    if (!seen) {
      // An executable mapping may be of a file that is not ELF (a JIT's cache, say). That is no
      // problem, unless the file has the name of a publisher.
      if (is_publisher_name(file.path)) problems_.push_back({file.path, seen.error()});
      continue;
    }
    if (!seen->rules.empty()) file.subject = checked_file(file.path, *std::move(seen));
  }
  waiting_ = 0;
}

// Only for libraries that publish, because it opens every file.
void LoadedFiles::judge_load_time(const LiveProcess& process, const ProcessPlan& plan) {
  std::map<FileId, File*> waiting;
  for (auto& [id, file] : files_) {
    if (file.loaded_later) continue;
    for (const Publisher& publisher : plan.publishers) {
      if (publisher.path != file.path || publisher.model == AccessModel::kLocalExec ||
          publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED) {
        continue;
      }
      const RuleId rule = find_source(publisher.recipe.source)->loading_rule(file.path);
      if (rule == RuleId::kNone) continue;
      file.loading_rule = rule;
      waiting.emplace(id, &file);
    }
  }
  if (waiting.empty() || load_time_questions_ == kMostQuestions) return;
  ++load_time_questions_;
  const auto later = files_loaded_later(process);
  if (!later) return;
  for (auto& [id, file] : waiting) file->loaded_later = later->count(id) != 0;
}

void LoadedFiles::add_live_rules(File& file) {
  CheckedSubject& subject = *file.subject;
  if (file.loaded_later) subject.rules.push_back(file.loading_rule);
  if (file.loaded_later.value_or(false)) {
    subject.diagnostics.push_back(
        {{FindingCode::kRule,
          "it was loaded when the program was already running (by dlopen or a dependency of what "
          "was)",
          "link the program against it, or preload it", file.loading_rule},
         file.path});
  }
  const bool is_known =
      std::ranges::count(subject.diagnostics, abi_v1::kVersionValue, &Diagnostic::rule) != 0;
  if (!file.version_in_memory.empty() && !is_known) {
    subject.diagnostics.push_back(
        {{FindingCode::kVersionUnknown, "in memory " + file.version_in_memory,
          "make the variable const, and never write to it", abi_v1::kVersionValue},
         file.path});
  }
  std::ranges::sort(subject.rules);
  std::ranges::stable_sort(subject.diagnostics, {}, &Diagnostic::rule);
}

void LoadedFiles::report(CheckReport& report) {
  judge_waiting();
  std::vector<CheckedSubject> subjects;
  for (auto& [id, file] : files_) {
    if (!file.subject) continue;
    add_live_rules(file);
    subjects.push_back(*std::move(file.subject));
  }
  std::ranges::sort(subjects, {}, &CheckedSubject::name);
  std::move(subjects.begin(), subjects.end(), std::back_inserter(report.subjects));
  std::move(problems_.begin(), problems_.end(), std::back_inserter(report.problems));
}

}  // namespace labelscope::cli
