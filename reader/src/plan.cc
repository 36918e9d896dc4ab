// Planning: look at every module once, keep those with both symbols and version 1, work out the
// access.
#include "labelscope/plan.h"

#include <elf.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "access.h"
#include "customlabels/label_abi.h"
#include "labelscope/outcome.h"
#include "libc_tls.h"
#include "modules.h"

namespace labelscope {
namespace {

struct Symbols {
  std::optional<ElfSymbol> version;
  std::optional<ElfSymbol> variable;
};

Result<Symbols> find_symbols(const ElfImage& image, bool symtab_too) {
  Symbols symbols;
  auto find = [&](const char* name) -> Result<std::optional<ElfSymbol>> {
    auto found = image.find_dynamic_symbol(name);
    if (!found) return found;
    if (*found && !(*found)->defined) found->reset();
    if (!*found && symtab_too) return image.find_symtab_symbol(name);
    return found;
  };
  auto version = find(CUSTOM_LABELS_VERSION_SYMBOL);
  if (!version) return std::move(version).error();
  auto variable = find(CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  if (!variable) return std::move(variable).error();
  symbols.version = *version;
  symbols.variable = *variable;
  return symbols;
}

bool is_main_executable(const Module& module, std::optional<Address> program_headers) {
  auto headers = module.image->program_headers_address();
  return program_headers && headers && module.load_bias + *headers == *program_headers;
}

// Why the module is no publisher, or nullopt if it is one.
std::optional<std::string> disqualify(const Module& module, const Symbols& symbols,
                                      const MemorySource& memory) {
  if (!symbols.version) {
    return "declares " CUSTOM_LABELS_CURRENT_SET_SYMBOL " without " CUSTOM_LABELS_VERSION_SYMBOL
           ": define both in one module";
  }
  if (!symbols.variable) {
    return "declares " CUSTOM_LABELS_VERSION_SYMBOL " without " CUSTOM_LABELS_CURRENT_SET_SYMBOL
           ": define both in one module and export them";
  }
  if (symbols.version->size != 4) {
    return CUSTOM_LABELS_VERSION_SYMBOL " has " + std::to_string(symbols.version->size) +
           " bytes: the ABI wants a 4-byte integer";
  }
  if (symbols.variable->type != STT_TLS) {
    return CUSTOM_LABELS_CURRENT_SET_SYMBOL " is not thread-local: declare it __thread";
  }
  if (symbols.variable->size != 8) {
    return CUSTOM_LABELS_CURRENT_SET_SYMBOL " has " + std::to_string(symbols.variable->size) +
           " bytes: the ABI wants a pointer";
  }
  auto version = read_value<std::uint32_t>(memory, module.load_bias + symbols.version->value);
  if (!version) return "the ABI version cannot be read: " + version.error().context;
  if (*version != CUSTOM_LABELS_ABI_VERSION) {
    return "ABI version " + std::to_string(*version) + ": only version 1 is known";
  }
  return std::nullopt;
}

bool same_place(const ls_tls_recipe& a, const ls_tls_recipe& b) {
  return (a.kind == LS_TP_OFFSET || a.kind == LS_DTV_SLOT) && a.kind == b.kind &&
         a.offset == b.offset && a.module_id == b.module_id;
}

}  // namespace

// CUSTOM_LABELS_LIBRARY_NAME_REGEX by hand: std::regex needs stack for every letter of a name that
// a target chose.
bool is_abi_library_name(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";  // how the kernel marks a replaced file
  constexpr std::string_view kLibrary = "libcustomlabels";
  constexpr std::string_view kSuffix = ".so";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view name = path.substr(path.rfind('/') + 1);
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
  std::string text =
      "none of its " + std::to_string(modules) + " loaded files publishes labels (ABI v1)";
  for (const Refusal& refusal : refusals) text += "; " + refusal.path + ": " + refusal.reason;
  return text;
}

Result<ProcessPlan> Planner::plan(const Target& target) {
  auto mappings = target.mappings();
  if (!mappings) return std::move(mappings).error();
  std::size_t known_to_be_none = 0;
  ModuleList list = list_modules(target, *mappings, [&](const FileId& file) {
    auto verdict = verdicts_.find(file);
    bool none = verdict != verdicts_.end() && !verdict->second.may_publish;
    known_to_be_none += none ? 1 : 0;
    return !none;
  });
  const MemorySource& memory = target.memory();
  auto program_headers = target.program_headers_address();

  ProcessPlan plan;
  plan.modules = list.modules.size() + known_to_be_none;
  for (const ModuleProblem& problem : list.problems) {
    // A file that is mapped executable and is no ELF file (a JIT's cache, say) has no symbols to
    // miss.
    if (problem.error.code == ErrorCode::kMalformed && !is_abi_library_name(problem.path)) continue;
    plan.refusals.push_back({problem.path, problem.error.context});
  }
  // Not a process without labels, but one that may not be looked at.
  if (plan.modules == 0) {
    for (const ModuleProblem& problem : list.problems) {
      if (problem.error.code == ErrorCode::kPermission) return problem.error;
    }
  }
  for (const Module& module : list.modules) {
    verdicts_[module.file].is_runtime = LibcTls::concerns(*module.image);
  }
  std::optional<LibcTls> inspected;
  for (const Module& module : list.modules) {
    bool main_executable = is_main_executable(module, program_headers);
    // What a linker did not export is only looked for where the ABI lets us expect it, and where
    // there is a thread-local variable at all.
    bool symtab_too = module.image->tls() && (main_executable || is_abi_library_name(module.path));
    auto symbols = find_symbols(*module.image, symtab_too);
    if (!symbols) {
      plan.refusals.push_back({module.path, symbols.error().context});
      continue;
    }
    verdicts_[module.file].may_publish = symbols->version || symbols->variable;
    if (!symbols->version && !symbols->variable) continue;
    if (auto reason = disqualify(module, *symbols, memory)) {
      plan.refusals.push_back({module.path, *reason});
      continue;
    }
    if (plan.publishers.size() == LS_MAX_PUBLISHERS) {
      plan.refusals.push_back({module.path, "more than " + std::to_string(LS_MAX_PUBLISHERS) +
                                                " publishers in one process"});
      continue;
    }
    auto libc = [&]() -> const LibcTls& {
      if (!inspected) {  // the libc itself publishes nothing: open its files again
        ModuleList all = list_modules(target, *mappings, [&](const FileId& file) {
          auto verdict = verdicts_.find(file);
          return verdict != verdicts_.end() && verdict->second.is_runtime;
        });
        inspected = LibcTls::inspect(all, memory, module.image->machine());
      }
      return *inspected;
    };
    AccessPlan access = plan_access(module, main_executable, *symbols->variable, libc, memory);
    Publisher publisher{module.path,  module.load_bias, *symbols->variable,
                        access.model, access.recipe,    std::move(access.notes)};
    if (!main_executable && !is_abi_library_name(module.path)) {
      publisher.notes.emplace_back(
          "the file name is not one that the ABI names: other readers will not find it");
    }
    if (symbols->variable->table == SymbolTable::kSymtab) {
      publisher.notes.emplace_back(
          "the variable is not a dynamic symbol: other readers will not find it; link with "
          "-Wl,--export-dynamic-symbol=" CUSTOM_LABELS_CURRENT_SET_SYMBOL);
    }
    // Two modules that define the variable share one if the loader bound both to the first.
    bool known = std::any_of(
        plan.publishers.begin(), plan.publishers.end(),
        [&](const Publisher& earlier) { return same_place(earlier.recipe, publisher.recipe); });
    if (known) continue;
    if (publisher.recipe.kind == LS_RECIPE_NOT_RELOCATED) plan.plan_again = true;
    plan.publishers.push_back(std::move(publisher));
  }
  return plan;
}

}  // namespace labelscope
