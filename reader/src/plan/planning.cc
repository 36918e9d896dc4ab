#include "plan/planning.h"

#include <algorithm>

#include "labelscope/outcome.h"
#include "process/startup.h"
#include "recipe/access.h"
#include "sources/file_inspection.h"

namespace labelscope {
namespace {

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
  if (a.kind != b.kind || a.source != b.source || !std::ranges::equal(a.parameters, b.parameters)) {
    return false;
  }
  // All modules use the first definition of a variable of the process, and the program is first.
  if (a.kind == LS_FIRST_THREAD_AT_ADDRESS) return true;
  return (a.kind == LS_TP_OFFSET || a.kind == LS_DTV_SLOT) && a.offset == b.offset &&
         a.module_id == b.module_id;
}

// The access plan of a publisher of which only the symbols are known. The loader maps a library's
// writable segment last, so its memory may be missing for now.
AccessPlan unlocated(bool alive) {
  AccessPlan access;
  access.recipe.kind = alive ? LS_RECIPE_NOT_RELOCATED : LS_RECIPE_NONE;
  return access;
}

// Returns what is known of a file before anything is looked for in it.
FileInspection begin(const Module& module, bool main_executable) {
  FileInspection file;
  file.machine = module.image->machine();
  file.executable = main_executable;
  file.has_dynamic_symbols = module.image->has_dynamic_symbols();
  file.tls = module.image->tls();
  return file;
}

}  // namespace

Planning::Planning(const Target& target, const PlannerOptions& options,
                   std::optional<Address> program_headers, PlanTrace* trace,
                   std::function<ModuleList()> runtime)
    : target_(target),
      trace_(trace),
      runtime_(std::move(runtime)),
      program_headers_(program_headers) {
  if (options.only.empty()) {
    for (const LabelSource* source : label_sources()) sought_.push_back({.source = source});
  }
  for (const ls_source source : options.only) sought_.push_back({.source = find_source(source)});
  for (std::size_t i = 0; i < options.variables.size(); ++i) {
    variables_.push_back(std::make_unique<NamedVariable>(options.variables[i], i));
    sought_.push_back(
        {.source = variables_.back().get(), .variable = variables_.back().get(), .index = i});
  }
  for (std::size_t i = 0; i < options.presets.size(); ++i) {
    presets_.push_back(std::make_unique<ModulePresetSource>(*options.presets[i]));
    sought_.push_back(
        {.source = presets_.back().get(), .preset = presets_.back().get(), .index = i});
  }
  for (const Sought& sought : sought_) {
    plan_.sources += (plan_.sources.empty() ? "" : ", ") + std::string(sought.source->about.name);
  }
}

std::vector<Sighting> Planning::find(const Module& module) const {
  std::vector<Sighting> all;
  for (std::size_t i = 0; i < sought_.size(); ++i) {
    const LabelSource& source = *sought_[i].source;
    Sighting one{i, begin(module, is_main(module)), {}};
    one.file.source = source.about.number;
    one.file.abi_name = source.is_publisher_name(module.path);
    if (Status found = source.find(*module.image, /*everything=*/false, one.file); !found) {
      one.problem = std::move(found).error();
    }
    one.declares = !one.problem && source.declares(one.file);
    const bool enough = one.problem.has_value();  // one refusal of a file is enough
    if (one.problem || one.declares || trace_ != nullptr) all.push_back(std::move(one));
    if (enough) break;
  }
  return all;
}

void Planning::keep(const Module& module, std::vector<Sighting> found) {
  kept_[{module.image.get(), is_main(module)}] = std::move(found);
}

const std::vector<Sighting>* Planning::kept(const Module& module) const {
  const auto found = kept_.find({module.image.get(), is_main(module)});
  return module.image == nullptr || found == kept_.end() ? nullptr : &found->second;
}

// The program and what the user has named come first, then libraries of the name that a source
// gives its libraries, then all others.
int Planning::claim_of(const Module& module) const {
  const std::vector<Sighting>* found = kept(module);
  const auto is_named = [&](const Sighting& sighting) {
    const Sought& sought = sought_[sighting.sought];
    return sighting.declares && (sought.variable != nullptr || sought.preset != nullptr);
  };
  if (is_main(module) || (found != nullptr && std::ranges::any_of(*found, is_named))) return 0;
  return is_publisher_name(module.path) ? 1 : 2;
}

// A program may load any number of publishers, as plugins do, and only some of them are read. Which
// ones must not depend on where they are mapped. ABI v1 accepts libraries of a certain name that
// were there from the start, so these come before the others.
std::vector<const Module*> Planning::by_claim(const std::vector<Module>& modules) const {
  std::vector<const Module*> order;
  std::size_t declared = 0;
  for (const Module& module : modules) {
    order.push_back(&module);
    const std::vector<Sighting>* found = kept(module);
    if (found == nullptr) continue;
    declared += static_cast<std::size_t>(std::ranges::count(*found, true, &Sighting::declares));
  }
  if (declared + variables_.size() + presets_.size() <= LS_MAX_PUBLISHERS) return order;
  const auto later = files_loaded_later(target_);
  std::ranges::stable_sort(order, {}, [&](const Module* module) {
    const bool came_later = later && later->contains(module->file);
    return 2 * claim_of(*module) + (came_later ? 1 : 0);
  });
  return order;
}

// The libc publishes nothing, so its files are not opened when a process is planned again. They are
// opened here, if a publisher's recipe depends on the libc.
const LibcTls& Planning::libc(Machine machine) {
  if (!libc_) {
    libc_ = LibcTls::inspect(runtime_(), target_.memory(), machine);
    if (trace_ != nullptr) trace_->libc = libc_clause(*libc_);
  }
  return *libc_;
}

// This is for a process whose files are all of a kind that labelscope cannot read (32-bit). It gets
// a publisher without a recipe, so that its samples are unreadable and not unlabelled.
void Planning::refuse_process(const ModuleProblem& problem) {
  Publisher unknown;
  unknown.path = problem.path;
  unknown.findings.push_back({FindingCode::kUnreadableFile, problem.error.context, {}});
  plan_.publishers.push_back(std::move(unknown));
}

void Planning::refuse_files(const std::vector<ModuleProblem>& problems) {
  for (const ModuleProblem& problem : problems) {
    // This is an executable mapping of a file that is not ELF (a JIT's cache, for instance), which
    // needs no report.
    if (problem.error.code == ErrorCode::kMalformed && !is_publisher_name(problem.path)) continue;
    plan_.refusals.push_back(
        {problem.path, {FindingCode::kUnreadableFile, problem.error.context, {}}});
    plan_.hides_publisher |= may_hide_publisher(problem);
  }
}

// Code that a program makes at run time lies in files of memory, which labelscope may open only
// with a capability. They have no publisher.
bool Planning::may_hide_publisher(const ModuleProblem& problem) const {
  constexpr std::string_view kOfMemory[] = {"/memfd:", "/anon_hugepage", "/SYSV", "/dev/"};
  const bool of_memory = std::ranges::any_of(
      kOfMemory, [&](std::string_view start) { return problem.path.starts_with(start); });
  return target_.is_alive() && !of_memory && problem.error.code != ErrorCode::kMalformed &&
         problem.error.code != ErrorCode::kUnsupported;
}

// The refusal does not say what the file is, but that nothing is known of it.
void Planning::refuse_unseen(const Module& module, std::size_t most) {
  plan_.refusals.push_back({module.path,
                            {FindingCode::kUnreadableFile,
                             "more than " + std::to_string(most) +
                                 " files of the process have the symbols of a publisher",
                             {}}});
}

bool Planning::look_at(const Module& module) {
  if (module.image == nullptr) {
    if (trace_ != nullptr) ++trace_->without_symbols;
    return false;
  }
  const bool main = is_main(module);
  const std::vector<Sighting>* known = kept(module);
  std::vector<Sighting> found = known == nullptr ? find(module) : *known;
  if (trace_ != nullptr && main) {
    trace_->main_executable = {module.path, module.image->has_dynamic_symbols(),
                               module.image->has_symtab()};
  }
  const std::size_t traces = trace_ == nullptr ? 0 : trace_->modules.size();
  bool may_publish = false;
  for (Sighting& sighting : found) {
    ModuleTrace seen;
    seen.path = module.path;
    seen.load_bias = module.load_bias;
    seen.named = sought_[sighting.sought].source->named();
    const bool has_symbols = look_for(sighting, module, seen);
    may_publish |= has_symbols;
    if (trace_ != nullptr && (has_symbols || seen.refused)) {
      trace_->modules.push_back(std::move(seen));
    }
    if (sighting.problem) break;  // one refusal is enough
  }
  if (trace_ != nullptr && trace_->modules.size() == traces) ++trace_->without_symbols;
  return may_publish;
}

// Returns true if it has something of the source, or if that is unknown.
bool Planning::look_for(Sighting& sighting, const Module& module, ModuleTrace& seen) {
  Sought& sought = sought_[sighting.sought];
  const LabelSource& source = *sought.source;
  seen.file = std::move(sighting.file);
  if (sighting.declares) {
    if (Status studied = source.study(*module.image, seen.file); !studied) {
      sighting.problem = std::move(studied).error();
    }
  }
  if (sighting.problem) {
    refuse(seen, {FindingCode::kUnreadableFile, sighting.problem->context, {}});
    return true;
  }
  if (source.declares(seen.file)) {
    judge(sought, module, seen);
    return true;
  }
  if (trace_ != nullptr) look_closer(source, module, seen);
  return false;
}

// Looks into .symtab of any file. Planning does not do that, because it is slow and finds no
// publisher. But it may show why there are no labels, so a trace records it.
void Planning::look_closer(const LabelSource& source, const Module& module,
                           ModuleTrace& seen) const {
  if (!source.find(*module.image, /*everything=*/true, seen.file)) return;
  source.judge(module.path, seen.file);
  if (!seen.file.findings.empty()) seen.refused = seen.file.findings.front();
}

void Planning::judge(Sought& sought, const Module& module, ModuleTrace& seen) {
  const LabelSource& source = *sought.source;
  FileInspection& file = seen.file;
  const auto no_version =
      read_version(*module.image, file, [&](std::uint64_t address, std::span<std::byte> out) {
        return target_.memory().read(module.load_bias + address, out);
      });
  Result<std::vector<TlsRelocation>> relocations = std::vector<TlsRelocation>{};
  if (!file.executable && source.about.variable_symbol != nullptr) {
    relocations = module.image->tls_relocations(
        file.variable.name.empty() ? source.about.variable_symbol : file.variable.name.c_str());
    file.relocations_read = relocations.has_value();
    if (relocations) keep_relocations(*relocations, file);
  }
  source.judge(module.path, file);
  for (Finding& finding : file.findings) {
    if (finding.harm != Harm::kUnreadable || source.about.publishes_anyway) continue;
    if (finding.code != FindingCode::kVersionUnreadable) {
      return refuse_source(sought, seen, finding);
    }
    finding.text = "the ABI version cannot be read: " + no_version->context;
    finding.fix = target_.is_alive() ? "look again when the library is loaded" : kWholeCore;
  }
  if (no_version) {
    sought.found = true;
    // The module may be a publisher. So a thread without other labels is unreadable, not
    // unlabelled.
    publish(sought, module, seen, unlocated(target_.is_alive()));
    return;
  }
  const std::function<const LibcTls&()> libc_of_target = [&]() -> const LibcTls& {
    return libc(module.image->machine());
  };
  AccessPlan access = source.reach(
      {module, file, relocations, libc_of_target, target_, trace_ != nullptr ? &seen : nullptr});
  if (access.refused) return refuse_source(sought, seen, *std::move(access.refused));
  publish(sought, module, seen, std::move(access));
}

// A variable that the user has named may be in another module, and a preset may fit another one.
void Planning::refuse_source(Sought& sought, ModuleTrace& seen, Finding finding) {
  if (sought.variable == nullptr && sought.preset == nullptr) {
    return refuse(seen, std::move(finding));
  }
  if (!sought.refused) sought.refused = finding;
  seen.refused = std::move(finding);
}

void Planning::publish(Sought& sought, const Module& module, ModuleTrace& seen, AccessPlan access) {
  access.recipe.source = static_cast<std::uint16_t>(seen.file.source);
  // Two modules may both define the variable. If the loader has bound both to the first definition,
  // they are one publisher.
  const auto first = std::ranges::find_if(plan_.publishers, [&](const Publisher& earlier) {
    return same_place(earlier.recipe, access.recipe);
  });
  if (first != plan_.publishers.end()) {
    seen.shares_with = first->path;
    sought.found = true;
    return;
  }
  if (plan_.publishers.size() == LS_MAX_PUBLISHERS) {
    return refuse_source(sought, seen,
                         {FindingCode::kTooManyPublishers,
                          "more than " + std::to_string(LS_MAX_PUBLISHERS) +
                              " publishers in one process (each --variable counts as one)",
                          "let one library publish the labels of all, or name fewer variables"});
  }
  sought.found = true;
  std::string named = access.named.empty() ? seen.named : std::move(access.named);
  if (sought.preset != nullptr && sought.preset->preset().gives_way()) giving_way_ = named;
  Publisher publisher{module.path,
                      module.load_bias,
                      best_of(seen.file.variable).value_or(ElfSymbol{}),
                      access.model,
                      access.recipe,
                      std::move(access.findings),
                      std::move(named)};
  publisher.findings.insert(publisher.findings.end(), seen.file.findings.begin(),
                            seen.file.findings.end());
  plan_.presets.keep(access.presets);
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

// The title is in no file. Its publisher is the program.
void Planning::look_for_title(const NamedVariable& variable, Sought& sought) {
  auto title = variable.reach_title(target_);
  if (!title) return;
  if (!*title) {
    sought.refused = Finding{FindingCode::kNoVariable, std::move(*title).error().context, {}};
    return;
  }
  Module program;
  const auto mappings = target_.mappings();
  if (mappings && program_headers_) {
    const Mapping* mapping = find_mapping(*mappings, *program_headers_);
    if (mapping != nullptr) program.path = mapping->path;
  }
  ModuleTrace seen;
  seen.path = program.path;
  seen.named = variable.named();
  seen.file.source = variable.about.number;
  seen.file.executable = true;
  publish(sought, program, seen, **std::move(title));
  if (trace_ != nullptr) trace_->modules.push_back(std::move(seen));
}

void Planning::look_at_process() {
  for (Sought& sought : sought_) {
    if (sought.variable != nullptr) look_for_title(*sought.variable, sought);
  }
}

void Planning::leave_out_what_gives_way() {
  const auto gives_way = [&](const Publisher& publisher) {
    return giving_way_ && publisher.named == *giving_way_;
  };
  std::vector<Publisher>& all = plan_.publishers;
  const auto leaves = std::ranges::find_if(all, gives_way);
  if (leaves == all.end() || std::ranges::all_of(all, gives_way)) return;
  const auto index = static_cast<std::size_t>(leaves - all.begin());
  all.erase(leaves);
  if (trace_ == nullptr) return;
  for (ModuleTrace& module : trace_->modules) {
    if (module.publisher == index) module.publisher.reset();
    if (module.publisher && *module.publisher > index) --*module.publisher;
  }
}

ProcessPlan Planning::finish(std::span<const ThreadLocalNames* const> there) {
  leave_out_what_gives_way();
  for (Sought& sought : sought_) {
    if (sought.found) continue;
    if (sought.variable != nullptr) {
      plan_.missing.push_back(
          {sought.index, sought.refused ? *sought.refused : sought.source->missing(there)});
    } else if (sought.preset != nullptr) {
      plan_.missing_presets.push_back(
          {sought.index, sought.refused ? *sought.refused : sought.preset->preset().missing()});
    }
  }
  return std::move(plan_);
}

}  // namespace labelscope
