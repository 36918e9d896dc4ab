// Planning: look at every module once, keep those with both symbols and version 1, work out the
// access.
#include "labelscope/plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"
#include "labelscope/outcome.h"
#include "process/modules.h"
#include "recipe/access.h"
#include "recipe/libc_tls.h"
#include "recipe/publication.h"

namespace labelscope {
namespace {

// Of files that look like publishers and are none: a process may have any number of them.
constexpr std::size_t kMostTold = 5;

bool is_main_executable(const Module& module, std::optional<Address> program_headers) {
  auto headers = module.image->program_headers_address();
  return program_headers && headers && module.load_bias + *headers == *program_headers;
}

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

bool same_place(const ls_tls_recipe& a, const ls_tls_recipe& b) {
  return (a.kind == LS_TP_OFFSET || a.kind == LS_DTV_SLOT) && a.kind == b.kind &&
         a.offset == b.offset && a.module_id == b.module_id;
}

Linkage linkage(const Module& module, const ModuleTrace& seen) {
  return linkage_of(seen.main_executable, module.image->has_dynamic_symbols());
}

// A publisher of which only the symbols are known. While a library is loaded, its writable segment
// comes last.
AccessPlan unlocated(Finding why, bool alive) {
  AccessPlan access;
  access.recipe.kind = alive ? LS_RECIPE_NOT_RELOCATED : LS_RECIPE_NONE;
  access.findings.push_back(std::move(why));
  return access;
}

}  // namespace

// CUSTOM_LABELS_LIBRARY_NAME_REGEX by hand: std::regex needs stack for every letter of a name that
// a target chose.
bool is_abi_library_name(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";  // how the kernel marks a replaced file
  constexpr std::string_view kLibrary = "libcustomlabels";
  constexpr std::string_view kSuffix = ".so";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view name = base_name(path);
  if (name.ends_with("customlabels.node")) return true;
  const std::size_t at = name.find(kLibrary);
  return at != std::string_view::npos && name.substr(at + kLibrary.size()).ends_with(kSuffix);
}

std::string_view access_model_name(AccessModel model) {
  switch (model) {
    case AccessModel::kLocalExec:
      return "local exec";
    case AccessModel::kInitialExec:
      return "initial exec";
    case AccessModel::kTlsDescStatic:
      return "TLSDESC (static)";
    case AccessModel::kTlsDescDynamic:
      return "TLSDESC (dynamic)";
    case AccessModel::kGeneralDynamic:
      return "general dynamic";
    case AccessModel::kLinkMap:
      return "loader's records";
    case AccessModel::kUnresolved:
      return "unresolved";
  }
  return "unknown";
}

std::string ProcessPlan::absence() const {
  if (!publishers.empty()) return {};
  if (modules == 0) return "none of its files could be read";
  std::string text = modules == 1 ? "the one file that it has loaded publishes no labels (ABI v1)"
                                  : "none of its " + std::to_string(modules) +
                                        " loaded files publishes labels (ABI v1)";
  for (std::size_t i = 0; i < std::min(refusals.size(), kMostTold); ++i) {
    text += "; " + refusals[i].path + ": " + finding_clause(refusals[i].finding);
  }
  if (refusals.size() > kMostTold) {
    text += "; and " + std::to_string(refusals.size() - kMostTold) + " more are none either";
  }
  return text;
}

// One planning: what it shares between modules, and the plan as it grows.
class Planner::Round {
 public:
  Round(const Target& target, const std::vector<Mapping>& mappings,
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
  void look_closer(const Module& module, ModuleTrace& seen);
  std::optional<Finding> judge(const Module& module, ModuleTrace& seen) const;
  AccessPlan plan_access_to(const Module& module, ModuleTrace& seen);
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
  std::optional<LibcTls> libc_;
  ProcessPlan plan_;
};

// The libc itself publishes nothing, so its files are known and closed: they are opened again when
// the answer for some publisher depends on it.
const LibcTls& Planner::Round::libc(Machine machine) {
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

// A process of which no file can be a module, because they are of another kind (32-bit): its
// samples are not those of a thread without labels.
void Planner::Round::refuse_process(const ModuleProblem& problem) {
  Publisher unknown;
  unknown.path = problem.path;
  unknown.findings.push_back({FindingCode::kUnreadableFile, problem.error.context, {}});
  plan_.publishers.push_back(std::move(unknown));
}

void Planner::Round::refuse_files(const std::vector<ModuleProblem>& problems) {
  for (const ModuleProblem& problem : problems) {
    // A file that is mapped executable and is no ELF file (a JIT's cache, say) has no symbols to
    // miss.
    if (problem.error.code == ErrorCode::kMalformed && !is_abi_library_name(problem.path)) continue;
    plan_.refusals.push_back(
        {problem.path, {FindingCode::kUnreadableFile, problem.error.context, {}}});
  }
}

void Planner::Round::look_at(const Module& module) {
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
  // What a linker did not export is only looked for where the ABI lets us expect it, and where
  // there is a thread-local variable at all.
  const bool symtab_too = seen.tls && (seen.main_executable || is_abi_library_name(module.path));
  auto publication = find_publication(*module.image, symtab_too);
  if (!publication) {
    refuse(seen, {FindingCode::kUnreadableFile, publication.error().context, {}});
  } else {
    verdicts_[module.file].may_publish = !publication->none();
    seen.publication = *publication;
    if (publication->none()) {
      if (trace_ != nullptr) look_closer(module, seen);
    } else if (auto reason = judge(module, seen)) {
      if (reason->code == FindingCode::kVersionUnreadable) {
        // It may publish: then a thread without other labels is unreadable, not unlabelled.
        publish(module, seen, unlocated(*std::move(reason), target_.is_alive()));
      } else {
        refuse(seen, *std::move(reason));
      }
    } else {
      publish(module, seen, plan_access_to(module, seen));
    }
  }
  if (trace_ == nullptr) return;
  if (seen.publication.none() && !seen.refused) {
    ++trace_->without_symbols;
  } else {
    trace_->modules.push_back(std::move(seen));
  }
}

// Symbols that planning does not look for, because finding them in every library is slow and makes
// no publisher: whoever asks why there are no labels wants to know of them.
void Planner::Round::look_closer(const Module& module, ModuleTrace& seen) {
  auto hidden = find_publication(*module.image, /*symtab_too=*/true);
  if (!hidden || hidden->none()) return;
  seen.publication = *hidden;
  seen.refused = find_hidden(*hidden, linkage(module, seen));
}

// Why the module is no publisher, or nullopt if it is one.
std::optional<Finding> Planner::Round::judge(const Module& module, ModuleTrace& seen) const {
  if (auto reason = disqualify(seen.publication)) return reason;
  auto version = read_value<std::uint32_t>(target_.memory(),
                                           module.load_bias + seen.publication.version->value);
  if (!version) {
    return Finding{FindingCode::kVersionUnreadable,
                   "the ABI version cannot be read: " + version.error().context,
                   target_.is_alive() ? "look again when the library is loaded" : kWholeCore};
  }
  seen.version_word = *version;
  return disqualify_version(*version);
}

AccessPlan Planner::Round::plan_access_to(const Module& module, ModuleTrace& seen) {
  auto libc_of_target = [&]() -> const LibcTls& { return libc(module.image->machine()); };
  return plan_access(module, seen.main_executable, *seen.publication.variable, libc_of_target,
                     target_, trace_ ? &seen : nullptr);
}

void Planner::Round::publish(const Module& module, ModuleTrace& seen, AccessPlan access) {
  // Two modules that define the variable share one if the loader bound both to the first.
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
  for (Finding& deviation : find_deviations(seen.publication, module.path, linkage(module, seen))) {
    publisher.findings.push_back(std::move(deviation));
  }
  if (publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED) plan_.plan_again = true;
  seen.publisher = plan_.publishers.size();
  plan_.publishers.push_back(std::move(publisher));
}

// A file that nobody maps may be written anew before it is mapped again, under the same number.
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
  // Not a process without labels, but one that may not be looked at.
  if (modules == 0) {
    for (const ModuleProblem& problem : list.problems) {
      if (problem.error.code == ErrorCode::kPermission) return problem.error;
    }
  }
  for (const Module& module : list.modules) {
    verdicts_[module.file].is_runtime = LibcTls::concerns(*module.image);
  }
  Round round(target, *mappings, verdicts_, trace);
  const auto other_kind = std::find_if(
      list.problems.begin(), list.problems.end(),
      [](const ModuleProblem& problem) { return problem.error.code == ErrorCode::kUnsupported; });
  if (modules == 0 && other_kind != list.problems.end()) {
    round.refuse_process(*other_kind);
  } else {
    round.refuse_files(list.problems);
  }
  for (const Module& module : list.modules) round.look_at(module);
  ProcessPlan plan = round.take_plan();
  plan.modules = modules;
  plan.plan_again |= list.loading;
  forget_unmapped(*mappings);
  return plan;
}

}  // namespace labelscope
