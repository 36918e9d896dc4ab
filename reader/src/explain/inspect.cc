// inspect_file(): ElfImage asked everything, and judged by publication.cc.
#include "labelscope/inspect.h"

#include <elf.h>

#include <algorithm>

#include "customlabels/label_abi.h"
#include "elf/debug_information.h"
#include "explain/inspect_image.h"
#include "labelscope/plan.h"
#include "sources/custom_labels/publication.h"

namespace labelscope {
namespace {

Result<InspectedSymbol> find_everywhere(const ElfImage& image, const char* name) {
  auto dynamic = image.find_dynamic_symbol(name);
  if (!dynamic) return std::move(dynamic).error();
  auto symtab = image.find_symtab_symbol(name);
  if (!symtab) return std::move(symtab).error();
  return InspectedSymbol{*dynamic, *symtab};
}

// What a process that loads the file will find: .symtab counts only where the planner looks there.
Publication as_planned(const FileInspection& seen) {
  const bool symtab_too = seen.tls && (seen.executable || seen.abi_name);
  auto choose = [&](const InspectedSymbol& symbol) -> std::optional<ElfSymbol> {
    if (is_exported(symbol)) return symbol.dynamic;
    return symtab_too ? symbol.symtab : std::nullopt;
  };
  return {choose(seen.version), choose(seen.variable)};
}

std::optional<std::uint32_t> read_version(const ElfImage& image, const InspectedSymbol& symbol) {
  const auto& found = is_exported(symbol) ? symbol.dynamic : symbol.symtab;
  std::uint32_t value = 0;
  if (!found || found->size != sizeof value) return std::nullopt;
  if (!image.read(found->value, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

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

void keep_relocations(const std::vector<TlsRelocation>& all,
                      const std::optional<ElfSymbol>& variable, FileInspection& seen) {
  const bool thread_local_here = variable && variable->type == STT_TLS;
  for (const TlsRelocation& relocation : all) {
    if (!reaches(relocation, variable)) continue;
    ++seen.relocation_count;
    if (seen.relocations.size() < FileInspection::kMaxRelocations) {
      seen.relocations.push_back(relocation);
    }
    if (thread_local_here) add_once(seen.access, access_of(relocation));
  }
  seen.imports_variable = !variable && !seen.relocations.empty();
  if (thread_local_here && seen.executable) add_once(seen.access, FileAccess::kLocalExec);
}

std::optional<Finding> judge_version(const FileInspection& seen) {
  if (seen.version_value) return disqualify_version(*seen.version_value);
  return Finding{FindingCode::kVersionUnreadable,
                 CUSTOM_LABELS_VERSION_SYMBOL " lies outside of the file's data",
                 "define it as a constant that is initialized with 1"};
}

void judge(const Publication& publication, std::string_view name,
           const std::vector<TlsRelocation>& relocations, FileInspection& seen) {
  const bool library = !seen.executable;
  const Linkage linkage = linkage_of(seen.executable, seen.has_dynamic_symbols);
  if (publication.none()) {
    const auto hidden = find_hidden({seen.version.symtab, seen.variable.symtab}, linkage);
    if (!hidden) return;
    seen.verdict = Verdict::kBroken;
    seen.findings.push_back(*hidden);
    return;
  }
  seen.verdict = Verdict::kBroken;
  if (auto reason = disqualify(publication)) {
    seen.findings.push_back(*std::move(reason));
    return;
  }
  if (auto reason = judge_version(seen)) {
    seen.findings.push_back(*std::move(reason));
    return;
  }
  seen.findings = find_deviations(publication, name, linkage);
  if (library) {
    auto missing = find_missing_descriptor(seen.machine, relocations);
    if (missing) seen.findings.push_back(*std::move(missing));
  }
  seen.verdict = seen.findings.empty() ? Verdict::kCompliant : Verdict::kReadable;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNothing:
      return "nothing";
    case Verdict::kBroken:
      return "broken";
    case Verdict::kReadable:
      return "readable";
    case Verdict::kCompliant:
      return "compliant";
  }
  return "unknown";
}

std::string_view file_access_name(FileAccess access) {
  switch (access) {
    case FileAccess::kLocalExec:
      return "local exec";
    case FileAccess::kTlsDesc:
      return "TLSDESC";
    case FileAccess::kInitialExec:
      return "initial exec";
    case FileAccess::kGeneralDynamic:
      return "general dynamic";
    case FileAccess::kLocalDynamic:
      return "local dynamic";
  }
  return "unknown";
}

Result<FileInspection> inspect_file(UniqueFd file, std::string_view name) {
  if (has_only_debug_information(file)) return only_debug_information();
  auto image = ElfImage::open(std::move(file));
  if (!image) return std::move(image).error();
  return inspect_image(*image, name);
}

Result<FileInspection> inspect_image(const ElfImage& image, std::string_view name) {
  FileInspection seen;
  seen.machine = image.machine();
  seen.executable = image.executable();
  seen.build_id = image.build_id();
  seen.has_dynamic_symbols = image.has_dynamic_symbols();
  seen.has_symtab = image.has_symtab();
  seen.abi_name = is_abi_library_name(name);
  seen.tls = image.tls();
  auto version = find_everywhere(image, CUSTOM_LABELS_VERSION_SYMBOL);
  if (!version) return std::move(version).error();
  auto variable = find_everywhere(image, CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  if (!variable) return std::move(variable).error();
  seen.version = *version;
  seen.variable = *variable;
  seen.version_value = read_version(image, seen.version);
  auto relocations = image.tls_relocations(CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  if (!relocations) return std::move(relocations).error();
  auto async = keeps_async_labels(image);
  if (!async) return std::move(async).error();
  Publication publication = as_planned(seen);
  publication.async_local_storage = *async;
  keep_relocations(*relocations, publication.variable, seen);
  judge(publication, name, *relocations, seen);
  return seen;
}

}  // namespace labelscope
