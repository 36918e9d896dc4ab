// This checks the rules of ABI v1 about a file, one by one. The names are the ABI's, the sizes
// those of a 64-bit process.
//
// One cause is reported once. For example, if the symbol is no thread-local variable, then the
// rules about thread-local variables are not checked; they do not count as met either.
#include <elf.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "customlabels/label_abi.h"
#include "elf/elf_names.h"
#include "sources/custom_labels/custom_labels.h"
#include "sources/custom_labels/rules.h"
#include "sources/file_inspection.h"

namespace labelscope {
namespace {

constexpr const char* kVersionSymbol = CUSTOM_LABELS_VERSION_SYMBOL;
constexpr const char* kSetSymbol = CUSTOM_LABELS_CURRENT_SET_SYMBOL;
constexpr std::uint64_t kPointerBytes = 8;

#define LABELSCOPE_EXPORT_OPTIONS                             \
  "-Wl,--export-dynamic-symbol=" CUSTOM_LABELS_VERSION_SYMBOL \
  " -Wl,--export-dynamic-symbol=" CUSTOM_LABELS_CURRENT_SET_SYMBOL
constexpr const char* kLinked = "link with " LABELSCOPE_EXPORT_OPTIONS;
// This is the fix if there is no table of dynamic symbols that those options could add to.
constexpr const char* kLinkOtherwise =
    "link it dynamically, or with -static-pie instead of -static, and "
    "with " LABELSCOPE_EXPORT_OPTIONS;
constexpr const char* kMakeGlobal =
    "define both symbols without static (in C++ const makes a symbol local, too: put extern \"C\" "
    "in front of const), with default visibility, and name them in the linker's version script if "
    "it has one";
constexpr const char* kDefineVersion =
    "define it as const uint32_t custom_labels_abi_version = 1; in C++ as "
    "extern \"C\" const uint32_t custom_labels_abi_version = 1; also within extern \"C\" { }";

class FileJudge {
 public:
  FileJudge(std::string_view path, FileInspection& file)
      : file_(file), version_(best_of(file.version)), variable_(best_of(file.variable)) {
    judge(std::string(base_name(path)));
    conclude(file_);
  }

 private:
  void judge(const std::string& name) {
    if (file_.own != nullptr) judge_async_storage();
    if (!version_ && !variable_) return;
    if (!expect(abi_v1::kPlatform, file_.foreign_platform.empty(),
                "it is for " + file_.foreign_platform + " and defines the ABI's symbols",
                "leave the two symbols out of builds for this platform")) {
      return;
    }
    if (!file_.executable) judge_name(name);
    judge_exports();
    if (version_) judge_version(*version_);
    if (variable_) judge_variable(*variable_);
  }

  bool expect(RuleId rule, bool met, std::string found, const char* fix,
              Harm harm = Harm::kUnreadable, FindingCode code = FindingCode::kRule) {
    return labelscope::expect(file_, rule, met, std::move(found), fix, harm, code);
  }

  void judge_async_storage();
  void judge_name(const std::string& name);
  void judge_exports();
  void judge_export(RuleId rule, const InspectedSymbol& symbol, FindingCode missing,
                    const std::string& name, const char* other);
  void find_hidden(RuleId rule, const ElfSymbol& symbol, const std::string& names);
  void judge_version(const ElfSymbol& symbol);
  void judge_variable(const ElfSymbol& symbol);
  void judge_executable_access(const ElfSymbol& variable);
  void judge_library_access();

  FileInspection& file_;
  const std::optional<ElfSymbol>& version_;
  const std::optional<ElfSymbol>& variable_;
};

void FileJudge::judge_async_storage() {
  file_.findings.push_back(
      {FindingCode::kAsyncLocalStorage,
       std::string("its labels are in the AsyncLocalStorage of node (it exports ") +
           kNodeLabelsSymbol +
           "), which labelscope cannot read yet; only labels that native code sets are seen",
       "record these labels with a profiler that reads the heap of V8, such as parca-agent",
       RuleId::kNone, version_ || variable_ ? Harm::kOverlooked : Harm::kUnreadable});
}

void FileJudge::judge_name(const std::string& name) {
  expect(abi_v1::kLibraryFileName, file_.abi_name,
         "the file name " + name +
             " matches neither libcustomlabels.*\\.so$ nor customlabels\\.node$: other readers "
             "will not find it",
         "name the file libcustomlabels.so or libcustomlabels-ANYTHING.so", Harm::kOverlooked,
         FindingCode::kFileName);
}

void FileJudge::judge_exports() {
  // Both may be hidden for the same reason: a missing option, or a version script.
  const bool hidden_alike =
      version_ && variable_ && !is_exported(file_.version) && !is_exported(file_.variable) &&
      (!file_.has_dynamic_symbols ||
       (version_->binding == variable_->binding && version_->visibility == variable_->visibility));
  if (hidden_alike) {
    return find_hidden(abi_v1::kVersionExported, *version_,
                       std::string(kVersionSymbol) + " and " + kSetSymbol + " are");
  }
  judge_export(abi_v1::kVersionExported, file_.version, FindingCode::kVersionMissing,
               kVersionSymbol, kSetSymbol);
  judge_export(abi_v1::kCurrentSetExported, file_.variable, FindingCode::kCurrentSetMissing,
               kSetSymbol, kVersionSymbol);
}

void FileJudge::judge_export(RuleId rule, const InspectedSymbol& symbol, FindingCode missing,
                             const std::string& name, const char* other) {
  if (!is_exported(symbol) && symbol.symtab) {
    return find_hidden(rule, *symbol.symtab, name + " is");
  }
  expect(rule, is_exported(symbol), std::string("it defines ") + other + " without " + name,
         "define both symbols in this file and export them", Harm::kUnreadable, missing);
}

// `names` is what is hidden, with its verb.
void FileJudge::find_hidden(RuleId rule, const ElfSymbol& symbol, const std::string& names) {
  const bool local = symbol.binding == STB_LOCAL;
  const bool is_static = file_.executable && !file_.has_dynamic_symbols;
  const char* text = local ? " local, not dynamic as the ABI asks"
                     : is_static
                         ? " in .symtab only: the file has no dynamic symbols at all, it is "
                           "linked statically"
                         : " in .symtab only, not dynamic as the ABI asks";
  const char* fix = local || !file_.executable ? kMakeGlobal : is_static ? kLinkOtherwise : kLinked;
  file_.rules.push_back(rule);
  file_.findings.push_back({local ? FindingCode::kLocalSymbol : FindingCode::kNotExported,
                            names + text, fix, rule,
                            reads_symtab(file_) ? Harm::kOverlooked : Harm::kUnreadable});
}

void FileJudge::judge_version(const ElfSymbol& symbol) {
  const std::string name = kVersionSymbol;
  if (!expect(
          abi_v1::kVersionKind, (symbol.type == STT_OBJECT || symbol.type == STT_NOTYPE),
          name + " is of type " + std::string(symbol_type_name(symbol.type)) + " instead of OBJECT",
          kDefineVersion)) {
    return;
  }
  if (!expect(abi_v1::kVersionSize, can_be_version(symbol),
              name + " has " + std::to_string(symbol.size) + " bytes",
              "define it as a 4-byte integer (uint32_t)", Harm::kUnreadable,
              FindingCode::kVersionSize)) {
    return;
  }
  const auto& value = file_.version_value;
  expect(abi_v1::kVersionValue, value == CUSTOM_LABELS_ABI_VERSION,
         value ? name + " is " + std::to_string(*value)
               : name + " is not in the file: it lies outside of the loaded data",
         "initialize it with 1 where it is defined", Harm::kUnreadable,
         value ? FindingCode::kVersionUnknown : FindingCode::kVersionUnreadable);
  if (!value) return;
  expect(abi_v1::kVersionConstant, !file_.version_writable,
         name + " lies in a segment that the program can write to", kDefineVersion, Harm::kSlight);
}

void FileJudge::judge_variable(const ElfSymbol& symbol) {
  const std::string name = kSetSymbol;
  if (!expect(abi_v1::kCurrentSetThreadLocal, symbol.type == STT_TLS,
              name + " is not thread-local: its type is " +
                  std::string(symbol_type_name(symbol.type)) +
                  " instead of TLS, so there is one for all threads",
              "declare it __thread", Harm::kUnreadable, FindingCode::kNotThreadLocal)) {
    return;
  }
  if (!expect(abi_v1::kCurrentSetSize, symbol.size == kPointerBytes,
              name + " has " + std::to_string(symbol.size) + " bytes, a pointer has 8",
              "define it as a pointer to a label set", Harm::kUnreadable,
              FindingCode::kCurrentSetSize)) {
    return;
  }
  if (file_.executable) {
    judge_executable_access(symbol);
  } else if (is_exported(file_.variable) && file_.relocations_read) {
    // If the variable is not exported, its descriptor cannot name it. That is not a second mistake.
    judge_library_access();
  }
  if (!file_.tls) return;
  expect(abi_v1::kCurrentSetAligned, is_aligned(file_, symbol, kPointerBytes),
         name + " is at offset " + std::to_string(symbol.value) +
             " of a block that is aligned to " + std::to_string(file_.tls->alignment),
         "align it to 8 bytes: no packed structure and no aligned attribute below 8",
         Harm::kSlight);
}

void FileJudge::judge_executable_access(const ElfSymbol& variable) {
  const std::uint64_t block = file_.tls ? file_.tls->memory_size : 0;
  const bool inside = block >= kPointerBytes && variable.value <= block - kPointerBytes;
  expect(abi_v1::kExecutableStaticOffset, inside,
         file_.tls
             ? std::string(kSetSymbol) + " is at offset " + std::to_string(variable.value) +
                   ", outside of the thread-local block of " + std::to_string(block) + " bytes"
             : "the file has no thread-local block (no PT_TLS segment)",
         "link with the linker's own layout of thread-local data");
}

void FileJudge::judge_library_access() {
  const std::string how = access_in_words(file_);
  const bool described =
      file_.descriptor_names_variable ||
      std::ranges::find(file_.access, FileAccess::kTlsDesc) != file_.access.end();
  expect(abi_v1::kLibraryTlsDescriptor, described,
         how.empty() ? "no relocation of the file reaches the variable: its code does not use it"
                     : "its code reaches the variable by " + how +
                           " access, not by a TLS descriptor: other readers will not find it",
         how.empty() ? "use the variable in the library that defines it, compiled for TLS "
                       "descriptors"
         : file_.machine == Machine::kX86_64
             ? "compile with -fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2 (gcc, or clang 19 "
               "and newer)"
             : "compile with -fPIC -ftls-model=global-dynamic -mtls-dialect=desc",
         Harm::kOverlooked, FindingCode::kNoTlsDesc);
  if (!described) return;
  expect(abi_v1::kDescriptorNamed, file_.descriptor_names_variable,
         "the relocation " +
             std::string(relocation_name(file_.machine, TlsRelocationKind::kTlsDesc)) +
             " does not name " + kSetSymbol +
             ", it has only an offset: other readers will not find it",
         "define the variable with default visibility and link without -Bsymbolic",
         Harm::kOverlooked, FindingCode::kNoTlsDesc);
}

}  // namespace

void CustomLabels::judge(std::string_view path, FileInspection& file) const {
  FileJudge(path, file);
}

}  // namespace labelscope
