// This finds out what an ELF file publishes, and which rules of the ABI (check_rule.h) it breaks,
// as far as the file alone shows that, without process and loader. The planner (plan.h) uses the
// same judge, so the verdict on a file fits a process that loads it.
//
// Source: Custom Labels ABI v1 (writer-lib/ABI.md). It is thread-safe, because nothing is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/finding.h"
#include "labelscope/result.h"
#include "labelscope/tls_recipe.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

enum class Verdict {
  kNothing,    // the file does not define the symbols
  kBroken,     // the file tries to publish, but no reader can use it
  kReadable,   // labelscope reads it; readers that follow ABI v1 strictly do not
  kCompliant,  // as ABI v1 requires
};
// Returns a stable word: "nothing", "broken", "readable", "compliant".
std::string_view verdict_name(Verdict verdict);
// Returns whether labelscope reads the labels of such a file.
constexpr bool is_readable(Verdict verdict) {
  return verdict == Verdict::kReadable || verdict == Verdict::kCompliant;
}

// How code reaches the variable, as far as the file shows. Whether a TLS descriptor is static or
// dynamic is decided when the file is loaded.
enum class FileAccess { kLocalExec, kTlsDesc, kInitialExec, kGeneralDynamic, kLocalDynamic };
std::string_view file_access_name(FileAccess access);  // "local exec", "TLSDESC", ...

// One symbol in the two symbol tables. A file may have it in one, both or none.
struct InspectedSymbol {
  std::optional<ElfSymbol> dynamic;  // may be imported, if the file lists imported symbols
  std::optional<ElfSymbol> symtab;   // defined ones only
  std::size_t others = 0;            // static variables of its name, of other source files
  std::string name = {};             // as the tables have it, where the user may write it otherwise
};

// Returns whether the file defines it among its dynamic symbols.
inline bool is_exported(const InspectedSymbol& symbol) {
  return symbol.dynamic && symbol.dynamic->defined;
}

// What only the label source of a file looks for and understands.
struct SourceInspection {
  virtual ~SourceInspection() = default;
};

struct FileInspection {
  ls_source source{};  // the source that all of this is about
  Machine machine{};
  // If the file is for a platform that the ABI does not cover, this is its name ("riscv", "x86-64
  // with FreeBSD"). Such a file is inspected only if it declares labels; `machine` then means
  // nothing.
  std::string foreign_platform;
  bool executable = false;  // true for a program, false for a library
  std::string build_id;     // lower-case hex; empty if there is none
  bool has_dynamic_symbols = false;
  bool has_symtab = false;  // false if the file is stripped
  bool abi_name = false;    // true if the source expects publishers to have such a file name
  std::optional<TlsSegment> tls;
  InspectedSymbol version;
  InspectedSymbol variable;
  std::shared_ptr<const SourceInspection> own;  // what `source` found; null if it has found none
  // The value in the file's data; nullopt if there is no symbol, or it is not 4 bytes of data, or
  // lies outside. The planner takes the value from the target's memory.
  std::optional<std::uint32_t> version_value;
  bool version_writable = false;  // true if the program may change it
  // These are the relocations by which code of this file may reach the variable: at most
  // kMaxRelocations of them, and their number. Relocations without a symbol count if they mean the
  // variable or the start of its TLS block.
  static constexpr std::size_t kMaxRelocations = 64;
  std::vector<TlsRelocation> relocations;
  std::size_t relocation_count = 0;
  bool relocations_read = true;            // false if nothing is known of them
  bool descriptor_names_variable = false;  // true if there is a TLS descriptor by name
  std::vector<FileAccess> access;          // each once
  bool imports_variable = false;           // true if it uses another file's variable
  // The files with a publisher's name that the loader loads with it (libcustomlabels.so.1): they
  // publish for the process, though this file does not.
  std::vector<std::string> needs_publishers;
  Verdict verdict = Verdict::kNothing;
  // The rules that apply to the file and were checked, by code. The file meets those that no
  // finding names. The list is empty if the file neither publishes labels nor tries to.
  std::vector<RuleId> rules;
  std::vector<Finding> findings;  // the findings that cost most labels come first, then by code
};

// Inspects a file by the first label source for which it is a publisher that can be read; else by
// the first for which it tries to be one; else by ABI v1. Rules and findings are those of all
// sources by which it tries to publish. The function takes over the descriptor. It only judges
// `name` by the ABI's rule for names. It fails with kMalformed if this is no ELF file, or one that
// contradicts itself; with kUnsupported if it is not 64-bit little-endian x86-64 or aarch64 and has
// none of the ABI's symbols, or is neither a program nor a shared object; and with kLimit if a
// table has an impossible size.
Result<FileInspection> inspect_file(UniqueFd file, std::string_view name);

}  // namespace labelscope
