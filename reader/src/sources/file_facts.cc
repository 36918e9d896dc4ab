// What one file publishes by one label source, as far as its symbols and relocations tell: found
// out the same way for the planner, which asks a loaded module, and for inspect_file(), which has
// nothing but the file. The source judges it.
#include "sources/file_facts.h"

#include <elf.h>

#include <algorithm>
#include <utility>

namespace labelscope {
namespace {

// A symbol-less relocation means some place in the module's block: of interest is the variable's
// own, and the start of the block, to which code may add the variable's offset itself.
bool reaches(const TlsRelocation& relocation, const std::optional<ElfSymbol>& variable) {
  if (relocation.by_name) return true;
  if (!variable) return false;
  return relocation.kind == TlsRelocationKind::kDtpMod ||
         relocation.addend == static_cast<std::int64_t>(variable->value) ||
         (relocation.addend == 0 && relocation.kind == TlsRelocationKind::kTlsDesc);
}

FileAccess access_of(const TlsRelocation& relocation) {
  switch (relocation.kind) {
    case TlsRelocationKind::kTlsDesc:
      return FileAccess::kTlsDesc;
    case TlsRelocationKind::kTpOff:
      return FileAccess::kInitialExec;
    case TlsRelocationKind::kDtpMod:
      break;
  }
  return relocation.by_name ? FileAccess::kGeneralDynamic : FileAccess::kLocalDynamic;
}

void add_once(std::vector<FileAccess>& all, FileAccess access) {
  if (std::find(all.begin(), all.end(), access) == all.end()) all.push_back(access);
}

bool is_version_data(const ElfSymbol& symbol) {
  return symbol.type == STT_OBJECT || symbol.type == STT_NOTYPE;
}

}  // namespace

bool reads_symtab(const FileInspection& file) {
  return file.tls && (file.executable || file.abi_name);
}

Status find_symbols(const LabelSource& source, const ElfImage& image, bool everything,
                    FileInspection& file) {
  std::vector<std::pair<const char*, InspectedSymbol*>> wanted{
      {source.variable_symbol(), &file.variable}};
  if (source.version_symbol() != nullptr) {
    wanted.insert(wanted.begin(), {source.version_symbol(), &file.version});
  }
  bool any = false;
  for (auto [name, symbol] : wanted) {
    auto found = image.find_dynamic_symbol(name);
    if (!found) return std::move(found).error();
    symbol->dynamic = *found;
    any |= is_exported(*symbol);
  }
  if (Status more = source.find_more(image, file); !more) return more;
  if (!everything && !any && !reads_symtab(file)) return {};
  for (auto [name, symbol] : wanted) {
    if (!everything && is_exported(*symbol)) continue;
    auto found = image.find_symtab_symbol(name);
    if (!found) return std::move(found).error();
    symbol->symtab = *found;
  }
  return {};
}

const std::optional<ElfSymbol>& best_of(const InspectedSymbol& symbol) {
  return is_exported(symbol) ? symbol.dynamic : symbol.symtab;
}

bool declares_labels(const FileInspection& file) {
  return is_exported(file.version) || is_exported(file.variable) || file.async_local_storage ||
         (reads_symtab(file) && (file.version.symtab || file.variable.symtab));
}

void keep_relocations(const std::vector<TlsRelocation>& all, FileInspection& file) {
  const auto& variable = best_of(file.variable);
  const bool thread_local_here = variable && variable->type == STT_TLS;
  for (const TlsRelocation& relocation : all) {
    if (!reaches(relocation, variable)) continue;
    ++file.relocation_count;
    if (file.relocations.size() < FileInspection::kMaxRelocations) {
      file.relocations.push_back(relocation);
    }
    file.descriptor_names_variable |=
        relocation.by_name && relocation.kind == TlsRelocationKind::kTlsDesc;
    if (thread_local_here) add_once(file.access, access_of(relocation));
  }
  file.imports_variable = !variable && !file.relocations.empty();
  if (thread_local_here && file.executable) add_once(file.access, FileAccess::kLocalExec);
}

bool can_be_version(const ElfSymbol& symbol) {
  return is_version_data(symbol) && symbol.size == sizeof(std::uint32_t);
}

}  // namespace labelscope
