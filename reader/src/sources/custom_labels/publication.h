// What one file publishes, as far as its symbols and relocations tell: shared by the planner, which
// asks a loaded module, and by inspect(), which has nothing but the file.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/finding.h"
#include "labelscope/plan_trace.h"
#include "labelscope/result.h"
#include "sources/label_source.h"

namespace labelscope {

// True if the name is one that ABI v1 asks of a library.
bool is_abi_library_name(std::string_view path);
// Whether the file is the addon for node that has labels in AsyncLocalStorage.
Result<bool> keeps_async_labels(const ElfImage& image);
// Defined symbols only: a file that imports the variable publishes nothing.
Result<Publication> find_publication(const ElfImage& image, bool symtab_too);

// Why symbols like these make no publisher; nullopt if they make one.
std::optional<Finding> disqualify(const Publication& publication);
// The same for the version that was found.
std::optional<Finding> disqualify_version(std::uint32_t version);

// Whether a symbol is not dynamic, so that only .symtab has it.
std::optional<Finding> find_hidden(const Publication& publication, Linkage linkage);
// What in a publisher keeps other readers, which follow the letter of ABI v1, from finding it.
// `path` is the file's name.
std::vector<Finding> find_deviations(const Publication& publication, std::string_view path,
                                     Linkage linkage);
// Whether a library's relocations have the TLS descriptor that ABI v1 asks for.
std::optional<Finding> find_missing_descriptor(Machine machine,
                                               std::span<const TlsRelocation> relocations);

}  // namespace labelscope
