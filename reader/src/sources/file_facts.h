// What one file publishes by one label source: facts, which the source judges.
#pragma once

#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"
#include "sources/label_source.h"

namespace labelscope {

// Whether labelscope takes a symbol that only .symtab has. It looks there only in files that are
// meant as publishers, and only if they have thread-local variables at all.
bool reads_symtab(const FileInspection& file);

// Fills in the symbols. `everything`: of both tables. Otherwise .symtab, which is slow to search,
// is asked only for what is not exported, where labelscope would take it, or where the other symbol
// is exported, so that the file is a publisher gone wrong.
Status find_symbols(const LabelSource& source, const ElfImage& image, bool everything,
                    FileInspection& file);

// The symbol that readers look for; without one, the symbol in .symtab.
const std::optional<ElfSymbol>& best_of(const InspectedSymbol& symbol);

// Whether planning has anything to do with the file: it declares labels, well or not.
bool declares_labels(const FileInspection& file);

// Of all thread-local relocations of the file, keeps those that reach the variable, and how.
void keep_relocations(const std::vector<TlsRelocation>& all, FileInspection& file);

// Whether the symbol can be the version: data of 4 bytes. Only then it has a value to be read.
bool can_be_version(const ElfSymbol& symbol);

}  // namespace labelscope
