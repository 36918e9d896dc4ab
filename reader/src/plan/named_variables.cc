// Finding what the user has named, and names that are like it.
#include "plan/named_variables.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/edit_distance.h"
#include "base/text.h"

namespace labelscope {
namespace {

// So many are told. Nobody reads more.
constexpr std::size_t kMostTold = 3;
// For the likeness of names; what follows is told, and not compared.
constexpr std::size_t kMostCompared = 128;

// "libshop.so" is libshop.so and libshop.so.1, and one that was replaced while it is loaded.
bool is_meant(const VariableSpec& spec, std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  if (spec.module.empty() || path == spec.module) return true;
  const std::string_view name = base_name(path);
  return name == spec.module || name.starts_with(spec.module + ".");
}

// Thread-local variables of that name, and else what has it instead.
Result<std::vector<ElfSymbol>> find_symbols(const ElfImage& image, const std::string& name) {
  auto dynamic = image.find_dynamic_symbol(name);
  if (!dynamic) return std::move(dynamic).error();
  std::vector<ElfSymbol> exported;
  if (*dynamic && (*dynamic)->defined) exported.push_back(**dynamic);
  const bool found = !exported.empty() && exported.front().type == STT_TLS;
  if (found || !image.tls()) return exported;
  auto local = image.find_symtab_thread_locals(name);
  if (!local || !local->empty()) return local;
  return exported;
}

// What is read in the block itself must lie in it.
bool lies_in_block(const ElfImage& image, const ElfSymbol& symbol, const ls_variable& walk) {
  const std::uint64_t block = image.tls() ? image.tls()->memory_size : 0;
  const std::uint64_t size = walk.hops == 0 ? walk.size : sizeof(Address);
  const std::uint64_t offset = static_cast<std::uint32_t>(walk.offset[0]);
  return symbol.value <= block && offset <= block - symbol.value &&
         size <= block - symbol.value - offset;
}

std::string_view compared_part(std::string_view name) { return name.substr(0, kMostCompared); }

struct Candidate {
  bool same = false;      // the very name, in another module than the one that is meant
  bool contains = false;  // a part of a mangled name, say
  std::size_t distance = 0;
  std::string text;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tuple(!a.same, !a.contains, a.distance, a.text) <
           std::tuple(!b.same, !b.contains, b.distance, b.text);
  }
};

}  // namespace

Result<std::vector<NamedVariable>> find_variables(std::span<const VariableSpec> specs,
                                                  const Module& module) {
  std::vector<NamedVariable> found;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const VariableSpec& spec = specs[i];
    if (!is_meant(spec, module.path)) continue;
    auto symbols = find_symbols(*module.image, spec.symbol);
    if (!symbols) return std::move(symbols).error();
    if (symbols->empty()) continue;
    NamedVariable one{i, symbols->front(), {}};
    if (symbols->size() > 1) {
      one.refused = {FindingCode::kSeveralVariables,
                     "there are " + std::to_string(symbols->size()) +
                         " thread-local variables named " + spec.symbol + " in " + module.path +
                         ", static ones of several source files",
                     "give the one that is meant a name of its own"};
    } else if (one.symbol.type != STT_TLS) {
      one.refused = {FindingCode::kNotThreadLocal, spec.symbol + " is not thread-local",
                     "name a variable that each thread has of its own"};
    } else if (!lies_in_block(*module.image, one.symbol, spec.walk)) {
      one.refused = {
          FindingCode::kOutsideBlock,
          spec.text + " lies outside of the module's TLS block, which has " +
              std::to_string(module.image->tls() ? module.image->tls()->memory_size : 0) +
              " bytes; the variable is at " + hex(one.symbol.value),
          "compare offset and type with the program"};
    }
    found.push_back(std::move(one));
  }
  return found;
}

ThreadLocalNames thread_local_names(const Module& module, std::size_t most) {
  ThreadLocalNames there{module.path, {}};
  if (module.image->tls() && most != 0) there.names = module.image->thread_local_names();
  if (there.names.size() > most) there.names.resize(most);
  return there;
}

Finding missing_variable(const VariableSpec& spec, std::span<const ThreadLocalNames* const> there) {
  std::vector<Candidate> all;
  bool module_seen = spec.module.empty();
  for (const ThreadLocalNames* file : there) {
    module_seen |= is_meant(spec, file->path);
    for (const std::string& name : file->names) {
      const bool contains = name.find(spec.symbol) != std::string::npos;
      all.push_back({name == spec.symbol, contains,
                     edit_distance(compared_part(spec.symbol), compared_part(name)),
                     name + " in " + file->path});
    }
  }
  const std::size_t told = std::min(all.size(), kMostTold);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(told), all.end());
  Finding missing{FindingCode::kNoVariable, {}, {}};
  missing.text = (module_seen ? "no file that it has loaded has a thread-local variable "
                              : "it has loaded no file " + spec.module + " for the variable ") +
                 spec.symbol;
  if (all.empty()) {
    missing.text += "; the symbol tables of its files name no thread-local variable at all";
    missing.fix = "look at a file that is not stripped";
    return missing;
  }
  missing.text += all.size() > told ? "; of " + std::to_string(all.size()) +
                                          " that there are, these are closest: "
                                    : "; these are all that there are: ";
  for (std::size_t i = 0; i < told; ++i) missing.text += (i == 0 ? "" : ", ") + all[i].text;
  missing.fix =
      "name one of these, as nm(1) shows it; a variable of a stripped file has no name, and the "
      "compiler leaves out a static one that nobody reads";
  return missing;
}

void set_parameters(const VariableSpec& spec, std::size_t index, ls_tls_recipe& recipe) {
  ls_variable walk = spec.walk;
  walk.index = static_cast<std::uint8_t>(index);
  std::memcpy(recipe.parameters, &walk, sizeof walk);
}

}  // namespace labelscope
