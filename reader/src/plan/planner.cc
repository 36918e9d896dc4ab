// Planner looks at every module of a process once, keeps those that may publish labels, and lets
// planning.h work out how each variable is reached.
//
//   mappings of the process
//     |  without the files that are known to be no publisher: by this planner, or by another one
//     |  that has seen the same file
//     v
//   list_modules(): opens each file once; Planning::find() says whether it is kept open
//     v
//   Planning::look_at() each module, when all of them are known, in the order of by_claim()
#include <algorithm>
#include <optional>
#include <set>

#include "labelscope/plan.h"
#include "plan/file_verdicts.h"
#include "plan/planning.h"
#include "process/main_program.h"
#include "process/modules.h"
#include "process/one_look.h"
#include "recipe/libc_tls.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

// At most twice so many files of a process are open at once: those that have one of the symbols, or
// whose tables contradict themselves (LS_MAX_PUBLISHERS of them count); half of them may be others
// that a trace examines.
constexpr std::size_t kMostOpen = 64;

// Returns the facts that the process publishes, with the user's keys for variables.
std::shared_ptr<const ProcessFacts> with_keys(const std::vector<VariableSpec>& variables,
                                              std::shared_ptr<const ProcessFacts> said) {
  if (variables.empty()) return said;
  auto facts = said ? std::make_shared<ProcessFacts>(*said) : std::make_shared<ProcessFacts>();
  for (const VariableSpec& variable : variables) facts->variable_keys.push_back(variable.key);
  return facts;
}

// Returns the file of the program, or none if that is not known.
FileId main_file(const std::optional<Address>& headers, const std::vector<Mapping>& mappings) {
  const Mapping* mapping = headers ? find_mapping(mappings, *headers) : nullptr;
  return mapping == nullptr ? FileId{} : mapping->file;
}

// Returns why a process cannot be planned at all.
std::optional<Error> fatal(const ModuleList& list, std::size_t modules) {
  for (const ModuleProblem& problem : list.problems) {
    // A file that could not be opened now may publish labels, so the plan would be wrong.
    if (problem.error.code == ErrorCode::kTooManyFiles) return problem.error;
    // This is not a process without labels, but one that labelscope may not look at.
    if (modules == 0 && problem.error.code == ErrorCode::kPermission) return problem.error;
  }
  return std::nullopt;
}

}  // namespace

// The files of one planning: which are opened, and which of these stay open until all are known.
class Planner::FileSearch {
 public:
  FileSearch(Planner& planner, const Target& target, FileId main_file, PlanTrace* trace,
             Planning& planning)
      : planner_(planner),
        target_(target),
        main_file_(main_file),
        trace_(trace),
        planning_(planning),
        names_left_(kMostNames) {
    for (const auto& [file, verdict] : planner.verdicts_) take_names(*verdict);
  }

  bool is_wanted(const Mapping& mapping) {
    const FileVerdict* verdict = trace_ == nullptr ? known(mapping) : nullptr;
    const bool none = verdict != nullptr && !verdict->may_publish;
    known_to_be_none_ += none ? 1 : 0;
    return !none;
  }

  bool is_kept(const Module& module) {
    note(module);
    std::vector<Sighting> found = planning_.find(module);
    // A trace also examines the others, as far as there is room.
    const bool concerns =
        std::ranges::any_of(found, [](const Sighting& one) { return one.declares || one.problem; });
    if (!concerns && (trace_ == nullptr || open_ >= kMostOpen)) return false;
    if (open_ >= kMostKept) {
      unseen_.insert(module.file);
      return false;
    }
    ++open_;
    planning_.keep(module, std::move(found));
    return true;
  }

  std::size_t known_to_be_none() const { return known_to_be_none_; }

  void look_at(const Module& module) {
    if (unseen_.contains(module.file)) {
      planning_.refuse_unseen(module, kMostKept);
    } else {
      planner_.verdicts_.at(module.file)->may_publish = planning_.look_at(module);
    }
  }

 private:
  static constexpr std::size_t kMostKept = 2 * kMostOpen;

  const FileVerdict* known(const Mapping& mapping) {
    const auto own = planner_.verdicts_.find(mapping.file);
    if (own != planner_.verdicts_.end() && has_same_role(*own->second, mapping.file) &&
        is_current(*own->second, mapping)) {
      return own->second.get();
    }
    // A file that may publish is opened in any case.
    auto verdict = planner_.shared_->find(mapping.file);
    if (!verdict || verdict->may_publish || verdict->path != mapping.path ||
        !has_same_role(*verdict, mapping.file)) {
      return nullptr;
    }
    const auto times = target_.file_times(mapping);
    if (!times || verdict->times != *times) return nullptr;
    take_names(*verdict);
    return planner_.verdicts_.insert_or_assign(mapping.file, std::move(verdict))
        .first->second.get();
  }
  // Of a process that is ending, or executes another program, the kernel no longer says which file
  // is the program. What is found in its files then does not hold for the next plan.
  bool has_same_role(const FileVerdict& verdict, const FileId& file) const {
    return verdict.main_executable == (file == main_file_);
  }
  // A file that was unmapped between two plans may have been replaced by one with its inode number.
  bool is_current(const FileVerdict& verdict, const Mapping& mapping) const {
    if (verdict.may_publish || !verdict.times) return true;
    const auto times = target_.file_times(mapping);
    return !times || verdict.times == *times;
  }

  // Notes what is known of a file before it is searched.
  void note(const Module& module) {
    const auto own = planner_.verdicts_.find(module.file);
    // The times are from before it was read: a file that is written meanwhile is another one.
    if (own != planner_.verdicts_.end() && module.times && own->second->times == module.times &&
        has_same_role(*own->second, module.file)) {
      return;
    }
    auto verdict = std::make_shared<FileVerdict>();
    verdict->times = module.times;
    verdict->path = module.path;
    verdict->main_executable = module.file == main_file_;
    verdict->is_runtime = LibcTls::concerns(*module.image);
    verdict->notices_preset =
        !module.image->executable() &&
        std::ranges::any_of(planner_.options_.noticed,
                            [&](const auto& preset) { return preset->matches(*module.image); });
    if (!planner_.options_.variables.empty()) {
      verdict->thread_locals = thread_local_names(module, names_left_);
      take_names(*verdict);
    }
    planner_.verdicts_[module.file] = verdict;
    planner_.shared_->put(module.file, verdict);
  }

  void take_names(const FileVerdict& verdict) {
    names_left_ -= std::min(names_left_, verdict.thread_locals.names.size());
  }

  Planner& planner_;
  const Target& target_;
  FileId main_file_;
  PlanTrace* trace_;
  Planning& planning_;
  std::size_t names_left_;  // names of thread-local variables that may still be kept
  std::size_t known_to_be_none_ = 0;
  std::size_t open_ = 0;
  std::set<FileId> unseen_;
};

Planner::Planner(PlannerOptions options)
    : options_(std::move(options)), shared_(std::make_shared<FileVerdicts>()) {}

Planner Planner::for_another_process() const {
  Planner other(options_);
  other.shared_ = shared_;
  return other;
}

// Once a file is no longer mapped, it may be overwritten and mapped again under the same inode. So
// its verdict is forgotten.
void Planner::forget_unmapped(const std::vector<Mapping>& mappings) {
  std::set<FileId> mapped;
  for (const Mapping& mapping : mappings) mapped.insert(mapping.file);
  std::erase_if(verdicts_, [&](const auto& known) { return !mapped.contains(known.first); });
}

Result<ProcessPlan> Planner::plan(const Target& target, PlanTrace* trace) {
  const MappingsOf mappings(target);
  if (!mappings) return mappings.error();
  forget_unmapped(*mappings);
  const auto headers = main_program_headers(target, *mappings);
  Planning planning(target, options_, headers, trace, [&] {
    return list_modules(target, *mappings, [&](const Mapping& mapping) {
      const auto verdict = verdicts_.find(mapping.file);
      return verdict != verdicts_.end() && verdict->second->is_runtime;
    });
  });
  FileSearch search(*this, target, main_file(headers, *mappings), trace, planning);
  const ModuleList list = list_modules(
      target, *mappings, [&](const Mapping& mapping) { return search.is_wanted(mapping); },
      [&](const Module& module) { return search.is_kept(module); });
  const std::size_t modules = list.modules.size() + search.known_to_be_none();
  if (auto error = fatal(list, modules)) return *std::move(error);
  const auto other_kind = std::ranges::find_if(list.problems, [](const ModuleProblem& problem) {
    return problem.error.code == ErrorCode::kUnsupported;
  });
  if (modules == 0 && other_kind != list.problems.end()) {
    planning.refuse_process(*other_kind);
  } else {
    planning.refuse_files(list.problems);
  }
  planning.look_at_process();
  for (const Module* module : planning.by_claim(list.modules)) search.look_at(*module);
  std::vector<const ThreadLocalNames*> there;
  bool notices_preset = false;
  for (const auto& [file, verdict] : verdicts_) {
    there.push_back(&verdict->thread_locals);
    notices_preset |= verdict->notices_preset;
  }
  ProcessPlan plan = planning.finish(there);
  plan.notices_preset = notices_preset;
  plan.modules = modules;
  plan.plan_again |= list.loading;
  plan.facts =
      with_keys(options_.variables, read_process_facts(target, *mappings, plan.needs_facts()));
  for (Publisher& publisher : plan.publishers) {
    find_source(publisher.recipe.source)->adapt(plan.facts.get(), publisher.recipe);
  }
  return plan;
}

}  // namespace labelscope
