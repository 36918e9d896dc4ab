// Planning: looks at every module once, keeps those that publish labels, and works out how each
// variable is reached.
//
//   mappings of the process
//     |  list_modules(): each file once, without those known to be no publisher
//     v
//   module, for each label source --- none of its symbols --> ignored
//     |
//     |  symbols found; the source judges: kind, size, what is in memory
//     +------- not a publisher after all -------------------> refusal, with a finding
//     |
//     |  plan_access(): which TLS recipe (access.cc)
//     v
//   publisher with a recipe; or without one, for a reason: then "plan again" if the library is
//   still being loaded, else its samples are unreadable
#include "labelscope/plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "labelscope/outcome.h"
#include "labelscope/text.h"
#include "process/modules.h"
#include "recipe/access.h"
#include "recipe/libc_tls.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

// So many refusals are told in words. A process may have any number of them.
constexpr std::size_t kMostTold = 5;

std::string libc_clause(const LibcTls& libc) {
  switch (libc.kind()) {
    case LibcTls::Kind::kGlibc:
      return libc.has_records() ? "glibc, whose loader's records of modules can be read"
                                : "glibc, whose loader's records of modules cannot be read";
    case LibcTls::Kind::kMusl:
      return "musl";
    case LibcTls::Kind::kUnknown:
      break;
  }
  return "not one that is known, so glibc's layout is assumed";
}

// "ABI v1, context_tls_v1"
std::string source_names() {
  std::string text;
  for (const LabelSource* source : label_sources()) {
    text += (text.empty() ? "" : ", ") + std::string(source->name());
  }
  return text;
}

bool same_place(const ls_tls_recipe& a, const ls_tls_recipe& b) {
  return (a.kind == LS_TP_OFFSET || a.kind == LS_DTV_SLOT) && a.kind == b.kind &&
         a.offset == b.offset && a.module_id == b.module_id && a.source == b.source;
}

Linkage linkage(const Module& module, const ModuleTrace& seen) {
  return linkage_of(seen.main_executable, module.image->has_dynamic_symbols());
}

// A publisher of which only the symbols are known. The loader maps a library's writable segment
// last, so its memory may be missing for now.
AccessPlan unlocated(Finding why, bool alive) {
  AccessPlan access;
  access.recipe.kind = alive ? LS_RECIPE_NOT_RELOCATED : LS_RECIPE_NONE;
  access.findings.push_back(std::move(why));
  return access;
}

}  // namespace

bool is_publisher_name(std::string_view path) {
  const auto sources = label_sources();
  return std::any_of(sources.begin(), sources.end(),
                     [&](const LabelSource* source) { return source->is_publisher_name(path); });
}

std::string_view variable_name(const Publisher& publisher) {
  const LabelSource* source = find_source(publisher.recipe.source);
  return source == nullptr ? "unknown" : source->variable_symbol();
}

std::string access_text(const Publisher& publisher) {
  std::string text(access_model_name(publisher.model));
  if (publisher.recipe.source == LS_SOURCE_CUSTOM_LABELS) return text;
  return std::string(variable_name(publisher)) + ", " + text;
}

std::string ProcessPlan::absence() const {
  if (!publishers.empty()) return {};
  if (modules == 0) return "none of its files could be read";
  std::string text =
      modules == 1 ? "the one file that it has loaded publishes no labels"
                   : "none of its " + std::to_string(modules) + " loaded files publishes labels";
  text += " (" + source_names() + ")";
  for (std::size_t i = 0; i < std::min(refusals.size(), kMostTold); ++i) {
    text += "; " + refusals[i].path + ": " + finding_clause(refusals[i].finding);
  }
  if (refusals.size() > kMostTold) {
    text += "; and " + std::to_string(refusals.size() - kMostTold) + " more are none either";
  }
  return text;
}

// One planning: what its modules share, and the plan so far.
class Planner::Planning {
 public:
  Planning(const Target& target, const std::vector<Mapping>& mappings,
           std::map<FileId, Verdict>& verdicts, PlanTrace* trace)
      : target_(target),
        mappings_(mappings),
        verdicts_(verdicts),
        trace_(trace),
        program_headers_(target.program_headers_address()) {}

  void look_at(const Module& module);
  void refuse_files(const std::vector<ModuleProblem>& problems);
  void refuse_process(const ModuleProblem& problem);
  ProcessPlan take_plan() { return std::move(plan_); }

 private:
  const LibcTls& libc(Machine machine);
  enum class Found { kNothing, kSymbols, kUnreadable };
  Found look_for(const LabelSource& source, const Module& module, ModuleTrace seen);
  void look_closer(const LabelSource& source, const Module& module, ModuleTrace& seen);
  AccessPlan plan_access_to(const LabelSource& source, const Module& module, ModuleTrace& seen);
  void publish(const LabelSource& source, const Module& module, ModuleTrace& seen,
               AccessPlan access);
  void refuse(ModuleTrace& seen, Finding finding) {
    plan_.refusals.push_back({seen.path, finding});
    seen.refused = std::move(finding);
  }

  const Target& target_;
  const std::vector<Mapping>& mappings_;
  std::map<FileId, Verdict>& verdicts_;
  PlanTrace* trace_;
  std::optional<Address> program_headers_;
  std::optional<LibcTls> libc_;
  ProcessPlan plan_;
};

// The libc publishes nothing, so from the second planning on its files are not opened. They are
// opened here again, if a publisher's recipe depends on the libc.
const LibcTls& Planner::Planning::libc(Machine machine) {
  if (!libc_) {
    ModuleList runtime = list_modules(target_, mappings_, [&](const FileId& file) {
      auto verdict = verdicts_.find(file);
      return verdict != verdicts_.end() && verdict->second.is_runtime;
    });
    libc_ = LibcTls::inspect(runtime, target_.memory(), machine);
    if (trace_ != nullptr) trace_->libc = libc_clause(*libc_);
  }
  return *libc_;
}

// For a process whose files are all of a kind that we cannot read (32-bit). It gets a publisher
// without a recipe, so that its samples are unreadable and not unlabelled.
void Planner::Planning::refuse_process(const ModuleProblem& problem) {
  Publisher unknown;
  unknown.path = problem.path;
  unknown.findings.push_back({FindingCode::kUnreadableFile, problem.error.context, {}});
  plan_.publishers.push_back(std::move(unknown));
}

void Planner::Planning::refuse_files(const std::vector<ModuleProblem>& problems) {
  for (const ModuleProblem& problem : problems) {
    // An executable mapping of a file that is not ELF (a JIT's cache, say): there is nothing to
    // tell.
    if (problem.error.code == ErrorCode::kMalformed && !is_publisher_name(problem.path)) continue;
    plan_.refusals.push_back(
        {problem.path, {FindingCode::kUnreadableFile, problem.error.context, {}}});
  }
}

void Planner::Planning::look_at(const Module& module) {
  ModuleTrace seen;
  seen.path = module.path;
  seen.machine = module.image->machine();
  seen.load_bias = module.load_bias;
  seen.main_executable = is_main_executable(module, program_headers_);
  seen.tls = module.image->tls();
  if (trace_ != nullptr && seen.main_executable) {
    trace_->main_executable = {module.path, module.image->has_dynamic_symbols(),
                               module.image->has_symtab()};
  }
  const std::size_t traces = trace_ == nullptr ? 0 : trace_->modules.size();
  bool may_publish = false;
  for (const LabelSource* source : label_sources()) {
    const Found found = look_for(*source, module, seen);
    may_publish |= found != Found::kNothing;
    if (found == Found::kUnreadable) break;  // one refusal is enough
  }
  verdicts_[module.file].may_publish = may_publish;
  if (trace_ != nullptr && trace_->modules.size() == traces) ++trace_->without_symbols;
}

Planner::Planning::Found Planner::Planning::look_for(const LabelSource& source,
                                                     const Module& module, ModuleTrace seen) {
  seen.source = source.number();
  // Symbols that are not exported are in .symtab, if anywhere. We look there only in files that are
  // meant as publishers, and only if they have thread-local variables at all.
  const bool symtab_too =
      seen.tls && (seen.main_executable || source.is_publisher_name(module.path));
  auto publication = source.find(*module.image, symtab_too);
  if (!publication) {
    refuse(seen, {FindingCode::kUnreadableFile, publication.error().context, {}});
  } else if (seen.publication = *publication; publication->none()) {
    if (trace_ != nullptr) look_closer(source, module, seen);
  } else if (auto reason = source.disqualify(seen.publication)) {
    refuse(seen, *std::move(reason));
  } else if (auto doubt = source.confirm(target_.memory(), target_.is_alive(), seen)) {
    if (doubt->code == FindingCode::kVersionUnreadable) {
      // It may be a publisher. So a thread without other labels is unreadable, not unlabelled.
      publish(source, module, seen, unlocated(*std::move(doubt), target_.is_alive()));
    } else {
      refuse(seen, *std::move(doubt));
    }
  } else {
    publish(source, module, seen, plan_access_to(source, module, seen));
  }
  if (trace_ != nullptr && (!seen.publication.none() || seen.refused)) {
    trace_->modules.push_back(std::move(seen));
  }
  if (!publication) return Found::kUnreadable;
  return publication->none() ? Found::kNothing : Found::kSymbols;
}

// Looks into .symtab of any file. Planning does not do that, because it is slow and finds no
// publisher. But it may be the reason why there are no labels, so a trace tells it.
void Planner::Planning::look_closer(const LabelSource& source, const Module& module,
                                    ModuleTrace& seen) {
  auto hidden = source.find(*module.image, /*symtab_too=*/true);
  if (!hidden || hidden->none()) return;
  seen.publication = *hidden;
  seen.refused = source.find_hidden(*hidden, linkage(module, seen));
}

AccessPlan Planner::Planning::plan_access_to(const LabelSource& source, const Module& module,
                                             ModuleTrace& seen) {
  auto libc_of_target = [&]() -> const LibcTls& { return libc(module.image->machine()); };
  return plan_access(module, seen.main_executable, source.variable_symbol(),
                     *seen.publication.variable, libc_of_target, target_, trace_ ? &seen : nullptr);
}

void Planner::Planning::publish(const LabelSource& source, const Module& module, ModuleTrace& seen,
                                AccessPlan access) {
  access.recipe.source = static_cast<std::uint16_t>(seen.source);
  // Two modules may both define the variable. If the loader has bound both to the first definition,
  // they are one publisher.
  const auto first = std::find_if(
      plan_.publishers.begin(), plan_.publishers.end(),
      [&](const Publisher& earlier) { return same_place(earlier.recipe, access.recipe); });
  if (first != plan_.publishers.end()) {
    seen.shares_with = first->path;
    return;
  }
  if (plan_.publishers.size() == LS_MAX_PUBLISHERS) {
    refuse(seen, {FindingCode::kTooManyPublishers,
                  "more than " + std::to_string(LS_MAX_PUBLISHERS) + " publishers in one process",
                  "let one library publish the labels of all"});
    return;
  }
  Publisher publisher{module.path,  module.load_bias, *seen.publication.variable,
                      access.model, access.recipe,    std::move(access.findings)};
  for (Finding& deviation : source.deviations({seen.publication, module.path, seen.machine,
                                               linkage(module, seen), access.relocations})) {
    publisher.findings.push_back(std::move(deviation));
  }
  if (publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED) plan_.plan_again = true;
  seen.publisher = plan_.publishers.size();
  plan_.publishers.push_back(std::move(publisher));
}

// Once a file is no longer mapped, it may be overwritten and mapped again under the same inode. So
// its verdict is forgotten.
void Planner::forget_unmapped(const std::vector<Mapping>& mappings) {
  std::set<FileId> mapped;
  for (const Mapping& mapping : mappings) mapped.insert(mapping.file);
  std::erase_if(verdicts_, [&](const auto& known) { return !mapped.contains(known.first); });
}

Result<ProcessPlan> Planner::plan(const Target& target, PlanTrace* trace) {
  auto mappings = target.mappings();
  if (!mappings) return std::move(mappings).error();
  std::size_t known_to_be_none = 0;
  const ModuleList list = list_modules(target, *mappings, [&](const FileId& file) {
    const auto verdict = verdicts_.find(file);
    const bool none =
        trace == nullptr && verdict != verdicts_.end() && !verdict->second.may_publish;
    known_to_be_none += none ? 1 : 0;
    return !none;
  });
  const std::size_t modules = list.modules.size() + known_to_be_none;
  // Not a process without labels, but one that we may not look at.
  if (modules == 0) {
    for (const ModuleProblem& problem : list.problems) {
      if (problem.error.code == ErrorCode::kPermission) return problem.error;
    }
  }
  for (const Module& module : list.modules) {
    verdicts_[module.file].is_runtime = LibcTls::concerns(*module.image);
  }
  Planning planning(target, *mappings, verdicts_, trace);
  const auto other_kind = std::find_if(
      list.problems.begin(), list.problems.end(),
      [](const ModuleProblem& problem) { return problem.error.code == ErrorCode::kUnsupported; });
  if (modules == 0 && other_kind != list.problems.end()) {
    planning.refuse_process(*other_kind);
  } else {
    planning.refuse_files(list.problems);
  }
  for (const Module& module : list.modules) planning.look_at(module);
  ProcessPlan plan = planning.take_plan();
  plan.modules = modules;
  plan.plan_again |= list.loading;
  forget_unmapped(*mappings);
  return plan;
}

}  // namespace labelscope
