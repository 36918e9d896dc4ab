// The static rules, one by one. One cause is reported once. For example, if the symbol is no
// thread-local variable, then the rules about thread-local variables are not checked; they do not
// count as met either.
#include "labelscope/check_file.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "customlabels/label_abi.h"
#include "elf/debug_information.h"
#include "elf/foreign_file.h"
#include "explain/inspect_image.h"
#include "labelscope/elf_names.h"
#include "labelscope/text.h"
#include "sources/custom_labels/publication.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kPointerBytes = 8;
constexpr const char* kDefineVersion =
    "define it as const uint32_t custom_labels_abi_version = 1; in C++ as "
    "extern \"C\" const uint32_t custom_labels_abi_version = 1; also within extern \"C\" { }";

// The dynamic symbol, which readers look for; without one, the symbol in .symtab.
const std::optional<ElfSymbol>& best_of(const InspectedSymbol& symbol) {
  return is_exported(symbol) ? symbol.dynamic : symbol.symtab;
}

class FileRules {
 public:
  FileRules(const ElfImage& image, std::string_view name, FileCheck& check)
      : image_(image), seen_(check.inspection), name_(name), check_(check) {}

  void run() {
    expect(RuleId::kPlatform, true, {});
    if (!seen_.executable) judge_file_name();
    judge_version();
    judge_current_set();
    std::sort(check_.rules.begin(), check_.rules.end());
    std::sort(check_.diagnostics.begin(), check_.diagnostics.end(),
              [](const Diagnostic& a, const Diagnostic& b) { return a.rule < b.rule; });
  }

 private:
  bool expect(RuleId rule, bool met, const Finding& otherwise) {
    check_.rules.push_back(rule);
    if (met) return true;
    Diagnostic diagnostic;
    diagnostic.rule = rule;
    diagnostic.subject = name_;
    diagnostic.found = otherwise.text;
    diagnostic.fix = otherwise.fix;
    check_.diagnostics.push_back(std::move(diagnostic));
    return false;
  }
  bool expect(RuleId rule, bool met, std::string found, std::string fix) {
    return expect(rule, met, Finding{{}, std::move(found), std::move(fix)});
  }

  void judge_file_name();
  bool are_hidden_alike() const;
  bool judge_export(RuleId rule, const InspectedSymbol& symbol, const Publication& alone,
                    const char* name);
  void judge_version();
  void judge_current_set();
  void judge_executable_access(const ElfSymbol& variable);
  void judge_library_access();

  const ElfImage& image_;
  const FileInspection& seen_;
  std::string name_;
  FileCheck& check_;
};

void FileRules::judge_file_name() {
  const std::string base(base_name(name_));
  expect(
      RuleId::kLibraryFileName, seen_.abi_name,
      "the file name " + base + " matches neither libcustomlabels.*\\.so$ nor customlabels\\.node$",
      "name the file libcustomlabels.so or libcustomlabels-ANYTHING.so");
}

// Whether neither symbol is exported, for the same reason (a missing option, a version script).
bool FileRules::are_hidden_alike() const {
  const auto& version = best_of(seen_.version);
  const auto& variable = best_of(seen_.variable);
  if (!version || !variable || is_exported(seen_.version) || is_exported(seen_.variable)) {
    return false;
  }
  return !seen_.has_dynamic_symbols ||
         (version->binding == variable->binding && version->visibility == variable->visibility);
}

bool FileRules::judge_export(RuleId rule, const InspectedSymbol& symbol, const Publication& alone,
                             const char* name) {
  if (is_exported(symbol)) return expect(rule, true, {});
  const Linkage linkage = linkage_of(seen_.executable, seen_.has_dynamic_symbols);
  if (auto hidden = find_hidden(alone, linkage)) {
    if (are_hidden_alike()) {
      hidden->text =
          "neither it nor " CUSTOM_LABELS_CURRENT_SET_SYMBOL " is exported: " + hidden->text;
    }
    return expect(rule, false, *hidden);
  }
  return expect(rule, false, std::string(name) + " is not defined, but the other symbol is",
                "define both symbols in this file and export them");
}

void FileRules::judge_version() {
  const auto& symbol = best_of(seen_.version);
  judge_export(RuleId::kVersionExported, seen_.version, {seen_.version.symtab, std::nullopt},
               CUSTOM_LABELS_VERSION_SYMBOL);
  if (!symbol) return;
  const bool data = symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE;
  if (!expect(RuleId::kVersionKind, data,
              "the symbol's type is " + std::string(symbol_type_name(symbol->type)) +
                  " instead of OBJECT",
              kDefineVersion)) {
    return;
  }
  if (!expect(RuleId::kVersionSize, symbol->size == sizeof(std::uint32_t),
              "it has " + std::to_string(symbol->size) + " bytes",
              "define it as a 4-byte integer (uint32_t)")) {
    return;
  }
  const auto& value = seen_.version_value;
  expect(RuleId::kVersionValue, value == CUSTOM_LABELS_ABI_VERSION,
         value ? "its value is " + std::to_string(*value)
               : "its value is not in the file: it lies outside of the loaded data",
         "initialize it with 1 where it is defined");
  if (!value) return;
  expect(RuleId::kVersionConstant, !image_.stays_writable(symbol->value),
         "it lies in a segment that the program can write to", kDefineVersion);
}

void FileRules::judge_current_set() {
  const auto& symbol = best_of(seen_.variable);
  // If one cause hides both symbols, the finding about the version has told it.
  const bool exported =
      !are_hidden_alike() &&
      judge_export(RuleId::kCurrentSetExported, seen_.variable,
                   {std::nullopt, seen_.variable.symtab}, CUSTOM_LABELS_CURRENT_SET_SYMBOL);
  if (!symbol) return;
  if (!expect(RuleId::kCurrentSetThreadLocal, symbol->type == STT_TLS,
              "the symbol's type is " + std::string(symbol_type_name(symbol->type)) +
                  " instead of TLS: there is one for all threads",
              "declare it __thread")) {
    return;
  }
  if (!expect(RuleId::kCurrentSetSize, symbol->size == kPointerBytes,
              "it has " + std::to_string(symbol->size) + " bytes, a pointer has 8",
              "define it as a pointer to a label set")) {
    return;
  }
  if (seen_.executable) {
    judge_executable_access(*symbol);
  } else if (exported) {
    // If the variable is not exported, its descriptor cannot name it. That is no second mistake.
    judge_library_access();
  }
  if (!seen_.tls) return;
  // A TLS block starts at an address that equals p_vaddr modulo p_align.
  const bool aligned = seen_.tls->alignment >= kPointerBytes &&
                       (seen_.tls->vaddr + symbol->value) % kPointerBytes == 0;
  expect(RuleId::kCurrentSetAligned, aligned,
         "it is at offset " + std::to_string(symbol->value) + " of a block that is aligned to " +
             std::to_string(seen_.tls->alignment),
         "align it to 8 bytes: no packed structure and no aligned attribute below 8");
}

void FileRules::judge_executable_access(const ElfSymbol& variable) {
  const std::uint64_t block = seen_.tls ? seen_.tls->memory_size : 0;
  const bool inside = block >= kPointerBytes && variable.value <= block - kPointerBytes;
  expect(RuleId::kExecutableStaticOffset, inside,
         seen_.tls
             ? "it is at offset " + std::to_string(variable.value) +
                   ", outside of the thread-local block of " + std::to_string(block) + " bytes"
             : std::string("the file has no thread-local block (no PT_TLS segment)"),
         "link with the linker's own layout of thread-local data");
}

void FileRules::judge_library_access() {
  const auto& relocations = seen_.relocations;
  const bool named =
      std::any_of(relocations.begin(), relocations.end(), [](const TlsRelocation& relocation) {
        return relocation.kind == TlsRelocationKind::kTlsDesc && relocation.by_name;
      });
  const bool described = std::find(seen_.access.begin(), seen_.access.end(),
                                   FileAccess::kTlsDesc) != seen_.access.end();
  if (named || described) {
    expect(RuleId::kLibraryTlsDescriptor, true, {});
    expect(RuleId::kDescriptorNamed, named,
           "its relocation " +
               std::string(relocation_name(seen_.machine, TlsRelocationKind::kTlsDesc)) +
               " has no symbol, only an offset",
           "define the variable with default visibility and link without -Bsymbolic");
    return;
  }
  std::string how;
  for (const FileAccess access : seen_.access) {
    how += (how.empty() ? "" : " and ") + std::string(file_access_name(access));
  }
  const bool x86_64 = seen_.machine == Machine::kX86_64;
  expect(RuleId::kLibraryTlsDescriptor, false,
         how.empty() ? "no relocation of the file reaches the variable: its code does not use it"
                     : "its code reaches the variable by " + how + " access",
         how.empty() ? "use the variable in the library that defines it, compiled for TLS "
                       "descriptors"
         : x86_64    ? "compile with -fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2 (gcc, or "
                       "clang 19 and newer)"
                     : "compile with -fPIC -ftls-model=global-dynamic -mtls-dialect=desc");
}

FileCheck check_foreign(const std::string& platform, std::string_view name) {
  FileCheck check;
  check.rules.push_back(RuleId::kPlatform);
  Diagnostic diagnostic;
  diagnostic.rule = RuleId::kPlatform;
  diagnostic.subject = name;
  diagnostic.found = "it is for " + platform + " and defines the ABI's symbols";
  diagnostic.fix = "leave the two symbols out of builds for this platform";
  check.diagnostics.push_back(std::move(diagnostic));
  return check;
}

}  // namespace

Result<FileCheck> check_file(UniqueFd file, std::string_view name) {
  const UniqueFd again(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!again.valid()) return system_error(errno, "duplicating the file's descriptor");
  auto image = ElfImage::open(std::move(file));
  const auto platform = foreign_platform(again);
  if (!image) {
    const bool foreign = image.error().code == ErrorCode::kUnsupported && platform;
    if (foreign && foreign_publisher(again)) return check_foreign(*platform, name);
    return std::move(image).error();
  }
  if (has_only_debug_information(again)) return only_debug_information();
  auto inspection = inspect_image(*image, name);
  if (!inspection) return std::move(inspection).error();
  if (inspection->verdict == Verdict::kNothing) {
    FileCheck check;
    check.inspection = *std::move(inspection);
    return check;
  }
  FileCheck check = platform ? check_foreign(*platform, name) : FileCheck{};
  check.inspection = *std::move(inspection);
  if (!platform) FileRules(*image, name, check).run();
  return check;
}

}  // namespace labelscope
