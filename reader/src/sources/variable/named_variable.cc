// This finds the variable that the user has named, and names that are like it.
#include "sources/variable/named_variable.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/text.h"
#include "elf/elf_image.h"
#include "sources/file_inspection.h"

namespace labelscope {
namespace {

// A message has at most so many names, because more would not be read.
constexpr std::size_t kMostShown = 3;
// Names are compared up to so many characters; what follows is shown, and not compared.
constexpr std::size_t kMostCompared = 128;

// "libshop.so" means libshop.so and libshop.so.1, also one that was replaced while it is loaded.
bool is_meant(const VariableSpec& spec, std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  if (spec.module.empty() || path == spec.module) return true;
  const std::string_view name = base_name(path);
  return name == spec.module || name.starts_with(spec.module + ".");
}

// Returns the thread-local variables of that name, or else other symbols of that name.
Result<std::vector<ElfSymbol>> find_symbols(const ElfImage& image, const std::string& name) {
  auto dynamic = image.find_dynamic_symbol(name);
  if (!dynamic) return std::move(dynamic).error();
  std::vector<ElfSymbol> exported;
  if (*dynamic && (*dynamic)->defined) exported.push_back(**dynamic);
  const auto exports = [&](unsigned type) {
    return !exported.empty() && exported.front().type == type;
  };
  for (const std::uint8_t type : {STT_TLS, STT_OBJECT}) {
    if (exports(type)) return exported;
    if (type == STT_TLS && !image.tls()) continue;
    auto local = image.find_symtab_variables(name, type);
    if (!local || !local->empty()) return local;
  }
  return exported;
}

// Returns whether the part that is read in the block itself lies in it.
bool lies_in_block(const FileInspection& file, const ElfSymbol& symbol, const ls_variable& walk) {
  const std::uint64_t block = file.tls ? file.tls->memory_size : 0;
  const std::uint64_t size = walk.hops == 0 ? walk.size : sizeof(Address);
  const std::uint64_t offset = static_cast<std::uint32_t>(walk.offset[0]);
  return symbol.value <= block && offset <= block - symbol.value &&
         size <= block - symbol.value - offset;
}

// Returns what a variable of this name may be called in a symbol table: the name itself, and, of
// "shop::current", "current" or "shop::(anonymous namespace)::current", what a C++ compiler makes
// of it (Itanium C++ ABI, 5.1), for a static variable as well.
std::vector<std::string> symbol_names(const std::string& name) {
  constexpr std::string_view kScope = "::";
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::vector<std::string> names{name};
  if (name.starts_with("_Z") || name.starts_with(kScope) || name.ends_with(kScope)) return names;
  std::string scopes;
  std::string_view rest = name;
  for (std::size_t at = 0; (at = rest.find(kScope)) != std::string_view::npos;) {
    const std::string_view scope = rest.substr(0, at);
    const std::string_view part = scope == kAnonymous ? "_GLOBAL__N_1" : scope;
    scopes += std::to_string(part.size()).append(part);
    rest.remove_prefix(at + kScope.size());
  }
  const std::string own = std::to_string(rest.size()).append(rest);
  if (!scopes.empty()) names.push_back("_ZN" + scopes + own + "E");
  // L: a static variable, which only its source file knows.
  names.push_back(scopes.empty() ? "_ZL" + own : "_ZN" + scopes + "L" + own + "E");
  return names;
}

// The same for a variable of the process, of which the symbol table has the size, or 0.
bool lies_in_variable(const ElfSymbol& symbol, const ls_variable& walk) {
  const std::uint64_t size = walk.hops == 0 ? walk.size : sizeof(Address);
  const std::uint64_t offset = static_cast<std::uint32_t>(walk.offset[0]);
  return symbol.size == 0 || (offset <= symbol.size && size <= symbol.size - offset);
}

// Returns what a symbol is that is no variable.
std::string_view kind_of(const ElfSymbol& symbol) {
  switch (symbol.type) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
      return "a function";
    default:
      return "a symbol without a type";
  }
}

std::string_view compared_part(std::string_view name) { return name.substr(0, kMostCompared); }

struct Candidate {
  bool same = false;      // true for the very name, in another module than the one that is meant
  bool contains = false;  // true if it contains the name, as a mangled name does
  std::size_t distance = 0;
  std::string text;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tuple(!a.same, !a.contains, a.distance, a.text) <
           std::tuple(!b.same, !b.contains, b.distance, b.text);
  }
};

}  // namespace

NamedVariable::NamedVariable(const VariableSpec& spec, std::size_t index)
    : Variable({.number = LS_SOURCE_VARIABLE,
                .name = spec.text,
                .variable_symbol = spec.symbol.c_str()}),
      spec_(spec),
      index_(index) {}

bool NamedVariable::is_publisher_name(std::string_view path) const { return is_meant(spec_, path); }

Status NamedVariable::find(const ElfImage& image, bool, FileInspection& file) const {
  if (!file.abi_name || spec_.symbol == kTitleVariable) return {};
  Result<std::vector<ElfSymbol>> symbols = std::vector<ElfSymbol>{};
  for (const std::string& name : symbol_names(spec_.symbol)) {
    symbols = find_symbols(image, name);
    if (!symbols) return std::move(symbols).error();
    file.variable.name = name;
    if (!symbols->empty()) break;
  }
  if (symbols->empty()) return {};
  const ElfSymbol& first = symbols->front();
  (first.table == SymbolTable::kDynamic ? file.variable.dynamic : file.variable.symtab) = first;
  file.variable.others = symbols->size() - 1;
  return {};
}

bool NamedVariable::declares(const FileInspection& file) const {
  return file.variable.dynamic || file.variable.symtab;
}

void NamedVariable::judge(std::string_view path, FileInspection& file) const {
  const auto& symbol = best_of(file.variable);
  if (!symbol) return;
  const auto refuse = [&](FindingCode code, std::string why, const char* fix) {
    file.findings.push_back({code, std::move(why), fix});
  };
  if (file.variable.others != 0) {
    refuse(FindingCode::kSeveralVariables,
           "there are " + std::to_string(file.variable.others + 1) + " variables named " +
               spec_.symbol + " in " + std::string(path) + ", static ones of several source files",
           "give the one that is meant a name of its own");
  } else if (symbol->type == STT_OBJECT) {
    if (lies_in_variable(*symbol, spec_.walk)) return;
    refuse(FindingCode::kOutsideBlock,
           spec_.text + " lies outside of the variable, which has " + std::to_string(symbol->size) +
               " bytes",
           "compare offset and type with the program");
  } else if (symbol->type != STT_TLS) {
    refuse(FindingCode::kNotThreadLocal,
           spec_.symbol + " is no variable but " + std::string(kind_of(*symbol)),
           "name a variable of the process, or one that each thread has of its own");
  } else if (!lies_in_block(file, *symbol, spec_.walk)) {
    refuse(FindingCode::kOutsideBlock,
           spec_.text + " lies outside of the module's TLS block, which has " +
               std::to_string(file.tls ? file.tls->memory_size : 0) +
               " bytes; the variable is at " + hex(symbol->value),
           "compare offset and type with the program");
  }
}

AccessPlan NamedVariable::reach(const Reachable& publisher) const {
  const auto& symbol = best_of(publisher.file.variable);
  AccessPlan plan;
  if (symbol && symbol->type == STT_OBJECT) {
    plan.model = AccessModel::kGlobal;
    plan.recipe.kind = LS_FIRST_THREAD_AT_ADDRESS;
    plan.recipe.offset = static_cast<std::int64_t>(publisher.module.load_bias + symbol->value);
  } else {
    plan = LabelSource::reach(publisher);
  }
  set_parameters(plan.recipe);
  return plan;
}

std::optional<Result<AccessPlan>> NamedVariable::reach_title(const Target& target) const {
  if (spec_.symbol != kTitleVariable) return std::nullopt;
  const auto address = target.title_address();
  if (!address) {
    return Error{ErrorCode::kNotFound,
                 target.is_alive()
                     ? "the kernel does not show where the title of the process is: this needs the "
                       "right to trace it"
                     : "a core file does not have the place of the process's title"};
  }
  AccessPlan plan;
  plan.model = AccessModel::kTitle;
  plan.recipe.kind = LS_AT_ADDRESS;
  plan.recipe.offset = static_cast<std::int64_t>(*address);
  set_parameters(plan.recipe);
  return plan;
}

void NamedVariable::set_parameters(ls_tls_recipe& recipe) const {
  ls_variable walk = spec_.walk;
  walk.index = static_cast<std::uint8_t>(index_);
  std::memcpy(recipe.parameters, &walk, sizeof walk);
}

ThreadLocalNames thread_local_names(const Module& module, std::size_t most) {
  ThreadLocalNames there{module.path, {}};
  if (module.image->tls() && most != 0) there.names = module.image->thread_local_names();
  if (there.names.size() > most) there.names.resize(most);
  return there;
}

Finding NamedVariable::missing(std::span<const ThreadLocalNames* const> there) const {
  std::vector<Candidate> all;
  // A mangled name contains the last part of a name in C++.
  const std::string own_name = spec_.symbol.substr(spec_.symbol.rfind(':') + 1);
  bool module_seen = spec_.module.empty();
  for (const ThreadLocalNames* file : there) {
    module_seen |= is_meant(spec_, file->path);
    for (const std::string& name : file->names) {
      const bool contains = name.find(own_name) != std::string::npos;
      all.push_back({name == spec_.symbol, contains,
                     edit_distance(compared_part(spec_.symbol), compared_part(name)),
                     name + " in " + file->path});
    }
  }
  const std::size_t shown = std::min(all.size(), kMostShown);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end());
  Finding missing{FindingCode::kNoVariable, {}, {}};
  missing.text = (module_seen ? "no file that it has loaded has a thread-local variable "
                              : "it has loaded no file " + spec_.module + " for the variable ") +
                 spec_.symbol;
  if (all.empty()) {
    missing.text += "; the symbol tables of its files name no thread-local variable at all";
    missing.fix = "look at a file that is not stripped";
    return missing;
  }
  missing.text += all.size() > shown ? "; of " + std::to_string(all.size()) +
                                           " that there are, these are closest: "
                                     : "; these are all that there are: ";
  for (std::size_t i = 0; i < shown; ++i) missing.text += (i == 0 ? "" : ", ") + all[i].text;
  missing.fix =
      "name one of these, as nm(1) shows it; a variable of a stripped file has no name, and the "
      "compiler leaves out a static one that no code reads";
  return missing;
}

}  // namespace labelscope
