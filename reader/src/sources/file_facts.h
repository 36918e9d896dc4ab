// What one file publishes by one label source: facts, which the source judges.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "labelscope/inspect.h"
#include "labelscope/result.h"
#include "sources/label_source.h"

namespace labelscope {

// Whether labelscope takes a symbol that only .symtab has. It looks there only in files that are
// meant as publishers, and only if they have thread-local variables at all.
bool reads_symtab(const FileInspection& file);

// The symbol that readers look for; without one, the symbol in .symtab.
const std::optional<ElfSymbol>& best_of(const InspectedSymbol& symbol);

// Of all thread-local relocations of the file, keeps those that reach the variable, and how.
void keep_relocations(const std::vector<TlsRelocation>& all, FileInspection& file);

// Whether the symbol can be the version: data of 4 bytes. Only then it has a value to be read.
bool can_be_version(const ElfSymbol& symbol);
// Takes the version's value, where the file has such a symbol: `read` fills bytes of a link-time
// address. Returns why it cannot be read.
std::optional<Error> read_version(
    const ElfImage& image, FileInspection& file,
    const std::function<Status(std::uint64_t, std::span<std::byte>)>& read);

// The file is asked about a rule of its source. True if it is met; otherwise there is a finding.
bool expect(FileInspection& file, RuleId rule, bool met, std::string found, const char* fix,
            Harm harm = Harm::kUnreadable, FindingCode code = FindingCode::kRule);
// The file is for a platform of ours, and readers find the variable (`exported`: if there is a rule
// that says so). False: nothing else of it matters.
bool expect_in_reach(FileInspection& file, const std::string& variable,
                     RuleId exported = RuleId::kNone);
// All that can be said of a file whose source has no numbered rules: that the variable, if there is
// one, is thread-local and has so many bytes.
void judge_variable(FileInspection& file, const std::string& variable, std::uint64_t bytes,
                    const char* fix_of_size);
// "TLSDESC and initial exec": how code of the file reaches the variable.
std::string access_in_words(const FileInspection& file);
// Whether the thread-local variable lies at a multiple of so many bytes in each thread.
bool is_aligned(const FileInspection& file, const ElfSymbol& variable, std::uint64_t bytes);
// When all is asked: what costs most labels comes first, and makes the verdict.
void conclude(FileInspection& file);

}  // namespace labelscope
