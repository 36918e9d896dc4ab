// These functions find out what one file publishes by one label source. The source judges it.
#pragma once

#include <cstddef>
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

// Returns whether labelscope accepts a symbol that only .symtab has. It looks there only in files
// that are meant as publishers, and only if they have thread-local variables at all.
bool reads_symtab(const FileInspection& file);

// Returns the symbol that readers look for, or without one, the symbol in .symtab.
const std::optional<ElfSymbol>& best_of(const InspectedSymbol& symbol);

// Keeps those of all thread-local relocations of the file that reach the variable, and how they do.
void keep_relocations(const std::vector<TlsRelocation>& all, FileInspection& file);

// Returns whether the symbol can be the version: data of 4 bytes. Only then it has a value to be
// read.
bool can_be_version(const ElfSymbol& symbol);
// Takes the version's value, if the file has such a symbol: `read` fills bytes of a link-time
// address. Returns why it cannot be read.
std::optional<Error> read_version(
    const ElfImage& image, FileInspection& file,
    const std::function<Status(std::uint64_t, std::span<std::byte>)>& read);

// Checks a rule of its source on the file. Returns true if it is met; otherwise there is a finding.
bool expect(FileInspection& file, RuleId rule, bool met, std::string found, const char* fix,
            Harm harm = Harm::kUnreadable, FindingCode code = FindingCode::kRule);
// Checks that the file is for a supported platform, and that readers find the variable (by the rule
// `exported`, if there is one). Returns false if nothing else of the file matters.
bool expect_in_reach(FileInspection& file, const std::string& variable,
                     RuleId exported = RuleId::kNone);
// Judges a file whose source has no numbered rules: the variable, if there is one, must be
// thread-local and have so many bytes.
void judge_variable(FileInspection& file, const std::string& variable, std::uint64_t bytes,
                    const char* fix_of_size);
// Returns how code of the file reaches the variable: "TLSDESC and initial exec".
std::string access_in_words(const FileInspection& file);
// Returns whether the thread-local variable is at a multiple of so many bytes in each thread.
bool is_aligned(const FileInspection& file, const ElfSymbol& variable, std::uint64_t bytes);
// Call this when all rules are checked: the finding that costs most labels comes first, and makes
// the verdict.
void conclude(FileInspection& file);

}  // namespace labelscope
