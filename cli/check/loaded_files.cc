#include "cli/check/loaded_files.h"

#include <algorithm>
#include <utility>

#include "cli/check/files.h"
#include "labelscope/startup.h"

namespace labelscope::cli {
namespace {

// Much less than the number of files that a process may have open.
constexpr std::size_t kMaxWaiting = 128;
// Which files were loaded later cannot be told while the loader changes its list, but a moment
// later it can. If it still cannot after so many questions, it never can; and each question opens
// every file.
constexpr int kMostQuestions = 100;

bool breaks(const CheckedSubject& subject, RuleId rule) {
  return std::any_of(subject.diagnostics.begin(), subject.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.rule == rule; });
}

}  // namespace

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
  if (waiting_.size() >= kMaxWaiting) judge_waiting();
}

void LoadedFiles::open(const LiveProcess& process, const Mapping& mapping) {
  auto fd = process.open_file(mapping);
  if (!fd && fd.error().code == ErrorCode::kVanished) return;
  files_[mapping.file].path = mapping.path;
  if (fd) {
    waiting_.push_back({mapping.file, *std::move(fd)});
  } else if (is_publisher_name(mapping.path)) {
    problems_.push_back({mapping.path, fd.error()});
  }
}

void LoadedFiles::judge_waiting() {
  for (Waiting& each : waiting_) {
    File& file = files_[each.id];
    auto seen = inspect_file(std::move(each.fd), file.path);
    if (!seen) {
      // An executable mapping may be of a file that is not ELF (a JIT's cache, say). That is no
      // problem, unless the file has the name of a publisher.
      if (is_publisher_name(file.path)) problems_.push_back({file.path, seen.error()});
      continue;
    }
    if (!seen->rules.empty()) file.subject = checked_file(file.path, *std::move(seen));
  }
  waiting_.clear();
}

// Only for libraries that publish, because it opens every file.
void LoadedFiles::judge_load_time(const LiveProcess& process, const ProcessPlan& plan) {
  std::vector<File*> untold;
  std::vector<FileId> ids;
  for (auto& [id, file] : files_) {
    // Node.js loads addons only by dlopen(), and the ABI allows this one.
    if (file.loaded_later || file.path.ends_with("customlabels.node")) continue;
    const bool publishes = std::any_of(
        plan.publishers.begin(), plan.publishers.end(), [&file = file](const Publisher& publisher) {
          return publisher.path == file.path && publisher.model != AccessModel::kLocalExec &&
                 publisher.recipe.kind != LS_RECIPE_NOT_RELOCATED;
        });
    if (!publishes) continue;
    untold.push_back(&file);
    ids.push_back(id);
  }
  if (untold.empty() || load_time_questions_ == kMostQuestions) return;
  ++load_time_questions_;
  const auto later = files_loaded_later(process);
  if (!later) return;
  for (std::size_t i = 0; i < untold.size(); ++i)
    untold[i]->loaded_later = later->count(ids[i]) != 0;
}

void LoadedFiles::add_live_rules(File& file) const {
  CheckedSubject& subject = *file.subject;
  if (file.loaded_later) subject.rules.push_back(RuleId::kLoadedAtStartup);
  if (file.loaded_later.value_or(false)) {
    subject.diagnostics.push_back(
        {{FindingCode::kRule,
          "it was loaded when the program was already running (by dlopen or a dependency of what "
          "was)",
          "link the program against it, or preload it", RuleId::kLoadedAtStartup},
         file.path});
  }
  if (!file.version_in_memory.empty() && !breaks(subject, RuleId::kVersionValue)) {
    subject.diagnostics.push_back(
        {{FindingCode::kVersionUnknown, "in memory " + file.version_in_memory,
          "make the variable const, and never write to it", RuleId::kVersionValue},
         file.path});
  }
  std::sort(subject.rules.begin(), subject.rules.end());
  std::stable_sort(subject.diagnostics.begin(), subject.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.rule < b.rule; });
}

void LoadedFiles::report(CheckReport& report) {
  judge_waiting();
  std::vector<CheckedSubject> subjects;
  for (auto& [id, file] : files_) {
    if (!file.subject) continue;
    add_live_rules(file);
    subjects.push_back(*std::move(file.subject));
  }
  std::sort(subjects.begin(), subjects.end(),
            [](const CheckedSubject& a, const CheckedSubject& b) { return a.name < b.name; });
  std::move(subjects.begin(), subjects.end(), std::back_inserter(report.subjects));
  std::move(problems_.begin(), problems_.end(), std::back_inserter(report.problems));
}

}  // namespace labelscope::cli
