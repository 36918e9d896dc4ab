// ABI v1's conditions, one by one. The names are the ABI's, the sizes those of a 64-bit process.
#include "sources/custom_labels/publication.h"

#include <elf.h>

#include <algorithm>
#include <string>

#include "customlabels/label_abi.h"
#include "labelscope/text.h"

namespace labelscope {
namespace {

#define LABELSCOPE_EXPORT_OPTIONS                             \
  "-Wl,--export-dynamic-symbol=" CUSTOM_LABELS_VERSION_SYMBOL \
  " -Wl,--export-dynamic-symbol=" CUSTOM_LABELS_CURRENT_SET_SYMBOL
constexpr const char* kExport = "link with " LABELSCOPE_EXPORT_OPTIONS;
// There is no table of dynamic symbols that those options could add to.
constexpr const char* kLinkOtherwise =
    "link it dynamically, or with -static-pie instead of -static, and "
    "with " LABELSCOPE_EXPORT_OPTIONS;
constexpr const char* kMakeGlobal =
    "define both symbols without static (in C++ const makes a symbol local, too: put extern \"C\" "
    "in front of const), with default visibility, and name them in the linker's version script if "
    "it has one";

// The addon of Polar Signals for node exports it in all of its versions.
constexpr const char* kAsyncSymbol = "custom_labels_als_identity_hash";

Finding in_async_local_storage() {
  return {FindingCode::kAsyncLocalStorage,
          std::string("its labels are in the AsyncLocalStorage of node (it exports ") +
              kAsyncSymbol +
              "), which labelscope cannot read yet; only labels that native code sets are seen",
          "record these labels with a profiler that reads the heap of V8, such as parca-agent"};
}

Finding in_symtab_only(const ElfSymbol& symbol, const char* name, Linkage linkage) {
  if (linkage == Linkage::kStatic && symbol.binding != STB_LOCAL) {
    return {FindingCode::kNotExported,
            std::string(name) +
                " is in .symtab only: the file has no dynamic symbols at all, it is linked "
                "statically",
            kLinkOtherwise};
  }
  if (symbol.binding == STB_LOCAL) {
    return {FindingCode::kLocalSymbol,
            std::string(name) + " is a local symbol, not a dynamic one as the ABI asks",
            kMakeGlobal};
  }
  return {FindingCode::kNotExported,
          std::string(name) + " is in .symtab only, not a dynamic symbol as the ABI asks",
          linkage == Linkage::kLibrary ? kMakeGlobal : kExport};
}

}  // namespace

// CUSTOM_LABELS_LIBRARY_NAME_REGEX, written out as code: std::regex uses stack for every letter,
// and the target chooses the length of the name.
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

Result<bool> keeps_async_labels(const ElfImage& image) {
  auto symbol = image.find_dynamic_symbol(kAsyncSymbol);
  if (!symbol) return std::move(symbol).error();
  return *symbol && (*symbol)->defined;
}

Result<Publication> find_publication(const ElfImage& image, bool symtab_too) {
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
  auto async = keeps_async_labels(image);
  if (!async) return std::move(async).error();
  return Publication{*version, *variable, *async};
}

std::optional<Finding> disqualify(const Publication& publication) {
  if (publication.async_local_storage && !publication.version && !publication.variable) {
    return in_async_local_storage();
  }
  if (!publication.version) {
    return Finding{FindingCode::kVersionMissing,
                   "declares " CUSTOM_LABELS_CURRENT_SET_SYMBOL
                   " without " CUSTOM_LABELS_VERSION_SYMBOL,
                   "define both in one module"};
  }
  if (!publication.variable) {
    return Finding{FindingCode::kCurrentSetMissing,
                   "declares " CUSTOM_LABELS_VERSION_SYMBOL
                   " without " CUSTOM_LABELS_CURRENT_SET_SYMBOL,
                   "define both in one module and export them"};
  }
  if (publication.version->size != sizeof(std::uint32_t)) {
    return Finding{
        FindingCode::kVersionSize,
        CUSTOM_LABELS_VERSION_SYMBOL " has " + std::to_string(publication.version->size) + " bytes",
        "define it as a 4-byte integer (uint32_t)"};
  }
  if (publication.variable->type != STT_TLS) {
    return Finding{FindingCode::kNotThreadLocal,
                   CUSTOM_LABELS_CURRENT_SET_SYMBOL " is not thread-local", "declare it __thread"};
  }
  if (publication.variable->size != sizeof(std::uint64_t)) {
    return Finding{FindingCode::kCurrentSetSize,
                   CUSTOM_LABELS_CURRENT_SET_SYMBOL " has " +
                       std::to_string(publication.variable->size) + " bytes",
                   "define it as a pointer"};
  }
  return std::nullopt;
}

std::optional<Finding> disqualify_version(std::uint32_t version) {
  if (version == CUSTOM_LABELS_ABI_VERSION) return std::nullopt;
  return Finding{FindingCode::kVersionUnknown, "ABI version " + std::to_string(version),
                 "define it as 1, the only version that is known"};
}

std::optional<Finding> find_hidden(const Publication& publication, Linkage linkage) {
  if (publication.variable && publication.variable->table == SymbolTable::kSymtab) {
    return in_symtab_only(*publication.variable, CUSTOM_LABELS_CURRENT_SET_SYMBOL, linkage);
  }
  if (publication.version && publication.version->table == SymbolTable::kSymtab) {
    return in_symtab_only(*publication.version, CUSTOM_LABELS_VERSION_SYMBOL, linkage);
  }
  return std::nullopt;
}

std::vector<Finding> find_deviations(const Publication& publication, std::string_view path,
                                     Linkage linkage) {
  std::vector<Finding> found;
  if (publication.async_local_storage) found.push_back(in_async_local_storage());
  if (auto hidden = find_hidden(publication, linkage)) found.push_back(*std::move(hidden));
  if (linkage == Linkage::kLibrary && !is_abi_library_name(path)) {
    found.push_back({FindingCode::kFileName,
                     "the file name is not one that the ABI names: other readers will not find it",
                     "name it libcustomlabels.so, or libcustomlabels-<anything>.so"});
  }
  return found;
}

std::optional<Finding> find_missing_descriptor(Machine machine,
                                               std::span<const TlsRelocation> relocations) {
  auto is_descriptor = [](const TlsRelocation& relocation) {
    return relocation.kind == TlsRelocationKind::kTlsDesc;
  };
  auto is_named = [&](const TlsRelocation& relocation) {
    return is_descriptor(relocation) && relocation.by_name;
  };
  if (std::any_of(relocations.begin(), relocations.end(), is_named)) return std::nullopt;
  if (std::any_of(relocations.begin(), relocations.end(), is_descriptor)) {
    return Finding{FindingCode::kNoTlsDesc,
                   "its TLS descriptor does not name " CUSTOM_LABELS_CURRENT_SET_SYMBOL
                   ": other readers will not find it",
                   "define the variable with default visibility and link without -Bsymbolic"};
  }
  return Finding{FindingCode::kNoTlsDesc,
                 "its code reaches the variable without a TLS descriptor: other readers will not "
                 "find it",
                 machine == Machine::kX86_64
                     ? "compile with -mtls-dialect=gnu2 and -ftls-model=global-dynamic"
                     : "compile with -mtls-dialect=desc and -ftls-model=global-dynamic"};
}

}  // namespace labelscope
