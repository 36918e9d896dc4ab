// Planning: looks at every module once, keeps those that publish labels, and works out how each
// variable is reached.
//
//   mappings of the process
//     |  list_modules(): each file once, without those known to be no publisher
//     v
//   module, for each label source --- none of its symbols --> ignored
//     |
//     |  symbols (or another sign) found; the source judges: kind, size, what is in memory
//     +------- not a publisher after all -------------------> refusal, with a finding
//     |
//     |  LabelSource::reach(): which TLS recipe (mostly access.cc)
//     v
//   publisher with a recipe; or without one, for a reason: then "plan again" if the library is
//   still being loaded, else its samples are unreadable
#include "labelscope/plan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "labelscope/outcome.h"
#include "plan/named_variables.h"
#include "process/modules.h"
#include "recipe/access.h"
#include "recipe/libc_tls.h"
#include "sources/file_facts.h"
#include "sources/label_source.h"

namespace labelscope {
namespace {

// So many refusals are told in words. A process may have any number of them.
constexpr std::size_t kMostTold = 5;
// Twice so many files of a process are open at once: those that have one of the symbols, or whose
// tables contradict themselves (LS_MAX_PUBLISHERS of them count); half of them may be others that a
// trace looks at more closely.
constexpr std::size_t kMostOpen = 64;

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

// What the process says, and what the user calls its variables.
std::shared_ptr<const ProcessFacts> with_keys(const std::vector<VariableSpec>& variables,
                                              std::shared_ptr<const ProcessFacts> said) {
  if (variables.empty()) return said;
  auto facts = said ? std::make_shared<ProcessFacts>(*said) : std::make_shared<ProcessFacts>();
  for (const VariableSpec& variable : variables) facts->variable_keys.push_back(variable.key);
  return facts;
}

// Of all label sources, or of some.
std::vector<const LabelSource*> sources_to_look_for(const std::vector<ls_source>& only) {
  const auto all = label_sources();
  if (only.empty()) return {all.begin(), all.end()};
  std::vector<const LabelSource*> some;
  some.reserve(only.size());
  for (const ls_source source : only) some.push_back(all[source]);
  return some;
}

bool same_place(const ls_tls_recipe& a, const ls_tls_recipe& b) {
  return (a.kind == LS_TP_OFFSET || a.kind == LS_DTV_SLOT) && a.kind == b.kind &&
         a.offset == b.offset && a.module_id == b.module_id && a.source == b.source &&
         std::ranges::equal(a.parameters, b.parameters);
}

// A publisher of which only the symbols are known. The loader maps a library's writable segment
// last, so its memory may be missing for now.
AccessPlan unlocated(bool alive) {
  AccessPlan access;
  access.recipe.kind = alive ? LS_RECIPE_NOT_RELOCATED : LS_RECIPE_NONE;
  return access;
}

}  // namespace

bool is_publisher_name(std::string_view path) {
  const auto sources = label_sources();
  return std::ranges::any_of(
      sources, [&](const LabelSource* source) { return source->is_publisher_name(path); });
}

std::string access_text(const Publisher& publisher) {
  std::string text(access_model_name(publisher.model));
  if (publisher.recipe.source == LS_SOURCE_CUSTOM_LABELS) return text;
  return variable_name(publisher) + ", " + text;
}

std::string variable_name(const Publisher& publisher) {
  if (!publisher.named.empty()) return publisher.named;
  const LabelSource::About& source = find_source(publisher.recipe.source)->about;
  return source.variable_symbol != nullptr ? source.variable_symbol : std::string(source.name);
}

std::string publisher_title(const Publisher& publisher) {
  return publisher.path + (publisher.named.empty() ? "" : ":" + publisher.named);
}

std::vector<ls_tls_recipe> ProcessPlan::recipes() const {
  std::vector<ls_tls_recipe> all;
  for (const Publisher& publisher : publishers) all.push_back(publisher.recipe);
  return all;
}

bool ProcessPlan::needs_facts() const {
  return std::ranges::any_of(publishers, [](const Publisher& publisher) {
    return (LS_FACT_SOURCES & 1U << publisher.recipe.source) != 0;
  });
}

std::string ProcessPlan::absence() const {
  if (!publishers.empty()) return {};
  if (modules == 0) return "none of its files could be read";
  std::string text = "the program sets no labels that labelscope knows (" +
                     std::to_string(modules) + (modules == 1 ? " loaded file" : " loaded files") +
                     " looked at)";
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
           std::map<FileId, Verdict>& verdicts, PlanTrace* trace, const PlannerOptions& options)
      : target_(target),
        mappings_(mappings),
        verdicts_(verdicts),
        trace_(trace),
        program_headers_(target.program_headers_address()),
        sources_(sources_to_look_for(options.only)),
        variables_(options.variables),
        found_(options.variables.size()),
        refused_(options.variables.size()) {
    const auto add = [&](std::string_view name) {
      plan_.sources += (plan_.sources.empty() ? "" : ", ") + std::string(name);
    };
    for (const LabelSource* source : sources_) add(source->about.name);
    for (const VariableSpec& variable : variables_) add(variable.text);
  }

  // Whether there is anything to look at in it.
  bool concerns(const Module& module) const;
  void look_at(const Module& module);
  void refuse_unseen(const Module& module);
  void refuse_files(const std::vector<ModuleProblem>& problems);
  void refuse_process(const ModuleProblem& problem);
  // When all modules were looked at.
  void tell_missing_variables();
  ProcessPlan take_plan() { return std::move(plan_); }

 private:
  FileInspection begin(const Module& module) const;
  const LibcTls& libc(Machine machine);
  enum class Found { kNothing, kSymbols, kUnreadable };
  Found look_for(const LabelSource& source, const Module& module, ModuleTrace seen);
  void look_closer(const LabelSource& source, const Module& module, ModuleTrace& seen);
  void judge(const LabelSource& source, const Module& module, ModuleTrace& seen);
  bool look_for_variables(const Module& module, const ModuleTrace& begun);
  void plan_variable(const NamedVariable& variable, const Module& module, ModuleTrace& seen);
  void publish(const Module& module, ModuleTrace& seen, AccessPlan access);
  void refuse(ModuleTrace& seen, Finding finding) {
    plan_.refusals.push_back({seen.path, finding});
    seen.refused = std::move(finding);
  }

  const Target& target_;
  const std::vector<Mapping>& mappings_;
  std::map<FileId, Verdict>& verdicts_;
  PlanTrace* trace_;
  std::optional<Address> program_headers_;
  std::vector<const LabelSource*> sources_;
  std::span<const VariableSpec> variables_;
  // Of variables_, in some module; and why not, where only the name is there.
  std::vector<bool> found_;
  std::vector<std::optional<Finding>> refused_;
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

// Before anything is looked for in it.
FileInspection Planner::Planning::begin(const Module& module) const {
  FileInspection file;
  file.machine = module.image->machine();
  file.executable = is_main_executable(module, program_headers_);
  file.has_dynamic_symbols = module.image->has_dynamic_symbols();
  file.tls = module.image->tls();
  return file;
}

bool Planner::Planning::concerns(const Module& module) const {
  if (const auto named = find_variables(variables_, module); !named || !named->empty()) return true;
  return std::any_of(sources_.begin(), sources_.end(), [&](const LabelSource* source) {
    FileInspection file = begin(module);
    file.source = source->about.number;
    file.abi_name = source->is_publisher_name(module.path);
    const Status found = source->find(*module.image, /*everything=*/false, file);
    return !found || source->declares(file);
  });
}

// Not what it is, but that nobody knows.
void Planner::Planning::refuse_unseen(const Module& module) {
  plan_.refusals.push_back({module.path,
                            {FindingCode::kUnreadableFile,
                             "more than " + std::to_string(2 * kMostOpen) +
                                 " files of the process have the symbols of a publisher",
                             {}}});
}

void Planner::Planning::look_at(const Module& module) {
  if (module.image == nullptr) {
    verdicts_[module.file].may_publish = false;
    if (trace_ != nullptr) ++trace_->without_symbols;
    return;
  }
  ModuleTrace seen;
  seen.path = module.path;
  seen.load_bias = module.load_bias;
  seen.file = begin(module);
  const FileInspection& file = seen.file;
  if (trace_ != nullptr && file.executable) {
    trace_->main_executable = {module.path, file.has_dynamic_symbols, module.image->has_symtab()};
  }
  const std::size_t traces = trace_ == nullptr ? 0 : trace_->modules.size();
  bool may_publish = false;
  bool readable = true;
  for (std::size_t i = 0; readable && i < sources_.size(); ++i) {
    const Found found = look_for(*sources_[i], module, seen);
    may_publish |= found != Found::kNothing;
    readable = found != Found::kUnreadable;  // one refusal is enough
  }
  if (readable) may_publish |= look_for_variables(module, seen);
  verdicts_[module.file].may_publish = may_publish;
  if (trace_ != nullptr && trace_->modules.size() == traces) ++trace_->without_symbols;
}

Planner::Planning::Found Planner::Planning::look_for(const LabelSource& source,
                                                     const Module& module, ModuleTrace seen) {
  seen.file.source = source.about.number;
  seen.file.abi_name = source.is_publisher_name(module.path);
  Found result = Found::kNothing;
  Status found = source.find(*module.image, /*everything=*/false, seen.file);
  if (found && source.declares(seen.file)) found = source.study(*module.image, seen.file);
  if (!found) {
    refuse(seen, {FindingCode::kUnreadableFile, found.error().context, {}});
    result = Found::kUnreadable;
  } else if (source.declares(seen.file)) {
    judge(source, module, seen);
    result = Found::kSymbols;
  } else if (trace_ != nullptr) {
    look_closer(source, module, seen);
  }
  if (trace_ != nullptr && (result == Found::kSymbols || seen.refused)) {
    trace_->modules.push_back(std::move(seen));
  }
  return result;
}

// Looks into .symtab of any file. Planning does not do that, because it is slow and finds no
// publisher. But it may be the reason why there are no labels, so a trace tells it.
void Planner::Planning::look_closer(const LabelSource& source, const Module& module,
                                    ModuleTrace& seen) {
  if (!source.find(*module.image, /*everything=*/true, seen.file)) return;
  source.judge(module.path, seen.file);
  if (!seen.file.findings.empty()) seen.refused = seen.file.findings.front();
}

void Planner::Planning::judge(const LabelSource& source, const Module& module, ModuleTrace& seen) {
  FileInspection& file = seen.file;
  const auto no_version =
      read_version(*module.image, file, [&](std::uint64_t address, std::span<std::byte> out) {
        return target_.memory().read(module.load_bias + address, out);
      });
  Result<std::vector<TlsRelocation>> relocations = std::vector<TlsRelocation>{};
  if (!file.executable && source.about.variable_symbol != nullptr) {
    relocations = module.image->tls_relocations(source.about.variable_symbol);
    file.relocations_read = relocations.has_value();
    if (relocations) keep_relocations(*relocations, file);
  }
  source.judge(module.path, file);
  for (Finding& finding : file.findings) {
    if (finding.harm != Harm::kUnreadable) continue;
    if (finding.code == FindingCode::kGoVersion || finding.code == FindingCode::kGoSlot) continue;
    if (finding.code != FindingCode::kVersionUnreadable) return refuse(seen, finding);
    finding.text = "the ABI version cannot be read: " + no_version->context;
    finding.fix = target_.is_alive() ? "look again when the library is loaded" : kWholeCore;
  }
  if (no_version) {
    // It may be a publisher. So a thread without other labels is unreadable, not unlabelled.
    publish(module, seen, unlocated(target_.is_alive()));
    return;
  }
  const std::function<const LibcTls&()> libc_of_target = [&]() -> const LibcTls& {
    return libc(module.image->machine());
  };
  publish(module, seen,
          source.reach({module, file, relocations, libc_of_target, target_,
                        trace_ != nullptr ? &seen : nullptr}));
}

// True: the module has some, or nobody knows.
bool Planner::Planning::look_for_variables(const Module& module, const ModuleTrace& begun) {
  if (variables_.empty()) return false;
  auto named = find_variables(variables_, module);
  if (!named) {
    plan_.refusals.push_back(
        {module.path, {FindingCode::kUnreadableFile, named.error().context, {}}});
    return true;
  }
  for (const NamedVariable& variable : *named) {
    ModuleTrace seen = begun;
    plan_variable(variable, module, seen);
    if (trace_ != nullptr) trace_->modules.push_back(std::move(seen));
  }
  return !named->empty();
}

void Planner::Planning::plan_variable(const NamedVariable& variable, const Module& module,
                                      ModuleTrace& seen) {
  const VariableSpec& spec = variables_[variable.spec];
  const ElfSymbol& symbol = variable.symbol;
  seen.named = spec.text;
  seen.file.source = LS_SOURCE_VARIABLE;
  (symbol.table == SymbolTable::kDynamic ? seen.file.variable.dynamic : seen.file.variable.symtab) =
      symbol;
  if (variable.refused) {
    if (!refused_[variable.spec]) refused_[variable.spec] = variable.refused;
    seen.refused = variable.refused;
    return;
  }
  found_[variable.spec] = true;
  auto libc_of_target = [&]() -> const LibcTls& { return libc(module.image->machine()); };
  Result<std::vector<TlsRelocation>> relocations = std::vector<TlsRelocation>{};
  if (!seen.file.executable) relocations = module.image->tls_relocations(spec.symbol);
  AccessPlan access = plan_access(module, seen.file.executable, symbol, std::move(relocations),
                                  libc_of_target, target_, trace_ ? &seen : nullptr);
  set_parameters(spec, variable.spec, access.recipe);
  publish(module, seen, std::move(access));
}

void Planner::Planning::tell_missing_variables() {
  std::vector<const ThreadLocalNames*> there;
  for (const auto& [file, verdict] : verdicts_) there.push_back(&verdict.thread_locals);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (found_[i]) continue;
    plan_.missing.push_back(
        {i, refused_[i] ? *refused_[i] : missing_variable(variables_[i], there)});
  }
}

void Planner::Planning::publish(const Module& module, ModuleTrace& seen, AccessPlan access) {
  access.recipe.source = static_cast<std::uint16_t>(seen.file.source);
  // Two modules may both define the variable. If the loader has bound both to the first definition,
  // they are one publisher.
  const auto first = std::ranges::find_if(plan_.publishers, [&](const Publisher& earlier) {
    return same_place(earlier.recipe, access.recipe);
  });
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
  Publisher publisher{
      module.path,  module.load_bias, best_of(seen.file.variable).value_or(ElfSymbol{}),
      access.model, access.recipe,    std::move(access.findings),
      seen.named};
  publisher.findings.insert(publisher.findings.end(), seen.file.findings.begin(),
                            seen.file.findings.end());
  if (publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED) plan_.plan_again = true;
  // The order of labels must not depend on where a library is mapped.
  const auto place = std::ranges::upper_bound(
      plan_.publishers, precedence(publisher.recipe.source), {},
      [](const Publisher& earlier) { return precedence(earlier.recipe.source); });
  seen.publisher = static_cast<std::size_t>(place - plan_.publishers.begin());
  if (trace_ != nullptr) {
    for (ModuleTrace& earlier : trace_->modules) {
      if (earlier.publisher && *earlier.publisher >= *seen.publisher) ++*earlier.publisher;
    }
  }
  plan_.publishers.insert(place, std::move(publisher));
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
  Planning planning(target, *mappings, verdicts_, trace, options_);
  forget_unmapped(*mappings);
  std::size_t names = 0;  // of thread-local variables
  for (const auto& [file, verdict] : verdicts_) names += verdict.thread_locals.names.size();
  std::size_t known_to_be_none = 0;
  std::size_t open = 0;
  std::set<FileId> unseen;
  const auto is_wanted = [&](const FileId& file) {
    const auto verdict = verdicts_.find(file);
    const bool none =
        trace == nullptr && verdict != verdicts_.end() && !verdict->second.may_publish;
    known_to_be_none += none ? 1 : 0;
    return !none;
  };
  const auto is_kept = [&](const Module& module) {
    Verdict& verdict = verdicts_[module.file];
    verdict.is_runtime = LibcTls::concerns(*module.image);
    if (!options_.variables.empty() && verdict.thread_locals.path.empty()) {
      verdict.thread_locals = thread_local_names(module, kMostNames - std::min(kMostNames, names));
      names += verdict.thread_locals.names.size();
    }
    const bool concerns = planning.concerns(module);
    // A trace looks closer at the others, too, as far as there is room.
    if (!concerns && (trace == nullptr || open >= kMostOpen)) return false;
    if (open >= 2 * kMostOpen) unseen.insert(module.file);
    return open < 2 * kMostOpen && ++open != 0;
  };
  const ModuleList list = list_modules(target, *mappings, is_wanted, is_kept);
  const std::size_t modules = list.modules.size() + known_to_be_none;
  for (const ModuleProblem& problem : list.problems) {
    // What could not be opened now may publish labels, and nobody has looked.
    if (problem.error.code == ErrorCode::kTooManyFiles) return problem.error;
    // Not a process without labels, but one that we may not look at.
    if (modules == 0 && problem.error.code == ErrorCode::kPermission) return problem.error;
  }
  const auto other_kind = std::ranges::find_if(list.problems, [](const ModuleProblem& problem) {
    return problem.error.code == ErrorCode::kUnsupported;
  });
  if (modules == 0 && other_kind != list.problems.end()) {
    planning.refuse_process(*other_kind);
  } else {
    planning.refuse_files(list.problems);
  }
  for (const Module& module : list.modules) {
    unseen.contains(module.file) ? planning.refuse_unseen(module) : planning.look_at(module);
  }
  planning.tell_missing_variables();
  ProcessPlan plan = planning.take_plan();
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
