// This finds out what one file publishes by one label source, as far as its symbols and relocations
// show. It does so in the same way for the planner, which has a loaded module, and for
// inspect_file(), which has only the file. The source judges the result.
#include "sources/file_inspection.h"

#include <elf.h>

#include <algorithm>
#include <utility>

#include "elf/elf_image.h"

namespace labelscope {
namespace {

// A symbol-less relocation means some place in the module's block. It counts if that is the
// variable's own place, or the start of the block, to which code may add the variable's offset
// itself.
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
  if (std::ranges::find(all, access) == all.end()) all.push_back(access);
}

bool is_version_data(const ElfSymbol& symbol) {
  return symbol.type == STT_OBJECT || symbol.type == STT_NOTYPE;
}

}  // namespace

bool reads_symtab(const FileInspection& file) {
  return file.tls && (file.executable || file.abi_name);
}

// .symtab is slow to search. Unless everything is wanted, it is searched only for a symbol that is
// not exported, and only if labelscope would accept it there, or if the other symbol is exported
// (the file then is a publisher with a mistake).
Status LabelSource::find(const ElfImage& image, bool everything, FileInspection& file) const {
  std::vector<std::pair<const char*, InspectedSymbol*>> wanted{
      {about.variable_symbol, &file.variable}};
  if (about.version_symbol != nullptr) {
    wanted.insert(wanted.begin(), {about.version_symbol, &file.version});
  }
  bool any = false;
  for (auto [name, symbol] : wanted) {
    auto found = image.find_dynamic_symbol(name);
    if (!found) return std::move(found).error();
    symbol->dynamic = *found;
    any |= is_exported(*symbol);
  }
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

bool LabelSource::declares(const FileInspection& file) const {
  return is_exported(file.version) || is_exported(file.variable) ||
         (reads_symtab(file) && (file.version.symtab || file.variable.symtab));
}

AccessPlan LabelSource::reach(const Reachable& publisher) const {
  return plan_access(publisher.module, publisher.file.executable, *best_of(publisher.file.variable),
                     publisher.relocations, publisher.libc, publisher.target, publisher.trace);
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

std::optional<Error> read_version(
    const ElfImage& image, FileInspection& file,
    const std::function<Status(std::uint64_t, std::span<std::byte>)>& read) {
  const auto& symbol = best_of(file.version);
  std::uint32_t value = 0;
  if (!symbol || !can_be_version(*symbol)) return std::nullopt;
  if (Status done = read(symbol->value, std::as_writable_bytes(std::span(&value, 1))); !done) {
    return std::move(done).error();
  }
  file.version_value = value;
  file.version_writable = image.stays_writable(symbol->value);
  return std::nullopt;
}

bool expect(FileInspection& file, RuleId rule, bool met, std::string found, const char* fix,
            Harm harm, FindingCode code) {
  file.rules.push_back(rule);
  if (!met) file.findings.push_back({code, std::move(found), fix, rule, harm});
  return met;
}

bool expect_in_reach(FileInspection& file, const std::string& variable, RuleId exported) {
  if (!file.foreign_platform.empty()) {
    file.findings.push_back({FindingCode::kUnreadableFile, "it is for " + file.foreign_platform,
                             "look at builds for x86-64 or aarch64 with Linux", RuleId::kNone,
                             Harm::kUnreadable});
    return false;
  }
  if (exported != RuleId::kNone) file.rules.push_back(exported);
  if (!is_exported(file.variable)) {
    file.findings.push_back({FindingCode::kNotExported, variable + " is in .symtab only",
                             "link with -Wl,--export-dynamic-symbol=" + variable, exported,
                             reads_symtab(file) ? Harm::kOverlooked : Harm::kUnreadable});
  }
  return true;
}

void judge_variable(FileInspection& file, const std::string& variable, std::uint64_t bytes,
                    const char* fix_of_size) {
  const auto& symbol = best_of(file.variable);
  if (!symbol) return;
  if (expect_in_reach(file, variable)) {
    const auto find = [&](FindingCode code, std::string text, const char* fix) {
      file.findings.push_back({code, std::move(text), fix, RuleId::kNone, Harm::kUnreadable});
    };
    if (symbol->type != STT_TLS) {
      find(FindingCode::kNotThreadLocal, variable + " is not thread-local", "declare it __thread");
    } else if (symbol->size != bytes) {
      find(FindingCode::kVariableSize, variable + " has " + std::to_string(symbol->size) + " bytes",
           fix_of_size);
    }
  }
  conclude(file);
  if (file.findings.empty()) file.verdict = Verdict::kCompliant;
}

std::string access_in_words(const FileInspection& file) {
  std::string how;
  for (const FileAccess access : file.access) {
    how += (how.empty() ? "" : " and ") + std::string(file_access_name(access));
  }
  return how;
}

// A TLS block starts at an address that equals p_vaddr modulo p_align.
bool is_aligned(const FileInspection& file, const ElfSymbol& variable, std::uint64_t bytes) {
  return file.tls->alignment >= bytes && (file.tls->vaddr + variable.value) % bytes == 0;
}

void conclude(FileInspection& file) {
  std::ranges::sort(file.rules);
  std::ranges::stable_sort(file.findings, {}, [](const Finding& finding) {
    return std::pair(finding.harm, finding.rule);
  });
  if (file.findings.empty()) {
    file.verdict = file.rules.empty() ? Verdict::kNothing : Verdict::kCompliant;
  } else {
    const Harm harm = file.findings.front().harm;
    file.verdict = harm == Harm::kUnreadable   ? Verdict::kBroken
                   : harm == Harm::kOverlooked ? Verdict::kReadable
                                               : Verdict::kCompliant;
  }
}

}  // namespace labelscope
