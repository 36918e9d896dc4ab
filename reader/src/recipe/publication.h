// What one file publishes, and the rules of ABI v1 about files: one judge for the planner, which asks
// a loaded module, and for inspect_file(), which has nothing but the file.
#pragma once

#include <string_view>
#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"

namespace labelscope {

// Whether labelscope takes a symbol that only .symtab has. It looks there only in files that the ABI
// names as publishers, and only if they have thread-local variables at all.
bool reads_symtab(const FileInspection& file);

// Fills in the symbols. `everything`: of both tables. Otherwise .symtab, which is slow to search, is
// asked only for what is not exported, where labelscope would take it, or where the other symbol is
// exported, so that the file is a publisher gone wrong.
Status find_symbols(const ElfImage& image, bool everything, FileInspection& file);

// The symbol that readers look for; without one, the symbol in .symtab.
const std::optional<ElfSymbol>& best_of(const InspectedSymbol& symbol);

// Whether planning has anything to do with the file: it declares labels, well or not.
bool declares_labels(const FileInspection& file);

// Of all thread-local relocations of the file, keeps those that reach the variable, and how.
void keep_relocations(const std::vector<TlsRelocation>& all, FileInspection& file);

// Whether the symbol can be the version: data of 4 bytes. Only then it has a value to be read.
bool can_be_version(const ElfSymbol& symbol);

// For a file that declares labels and is for another platform than ABI v1 knows: the one rule that
// counts.
void judge_foreign(FileInspection& file);

// Judges all that the rest of `file` says: fills in rules, findings and verdict. `path`: its name.
void judge_file(std::string_view path, FileInspection& file);

}  // namespace labelscope
