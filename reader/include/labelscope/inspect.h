// What an ELF file publishes, as far as the file alone tells: without process and loader. The
// conditions are those of the planner (plan.h), so the verdict on a file fits a process that loads
// it.
//
// Source: Custom Labels ABI v1 (writer-lib/ABI.md). Thread-safe: nothing is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/finding.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope {

enum class Verdict {
  kNothing,    // it does not define the symbols
  kBroken,     // it tries to publish, but no reader can use it
  kReadable,   // labelscope reads it; readers that follow ABI v1 strictly do not
  kCompliant,  // as ABI v1 requires
};
// A stable word: "nothing", "broken", "readable", "compliant".
std::string_view verdict_name(Verdict verdict);

// How code reaches the variable, as far as the file tells. Whether a TLS descriptor is static or
// dynamic is decided when the file is loaded.
enum class FileAccess { kLocalExec, kTlsDesc, kInitialExec, kGeneralDynamic, kLocalDynamic };
std::string_view file_access_name(FileAccess access);  // "local exec", "TLSDESC", ...

// One symbol in the two symbol tables. A file may have it in one, both or none.
struct InspectedSymbol {
  std::optional<ElfSymbol> dynamic;  // may be imported, if the file lists imported symbols
  std::optional<ElfSymbol> symtab;   // defined ones only
};

// Whether the file defines it among its dynamic symbols.
inline bool is_exported(const InspectedSymbol& symbol) {
  return symbol.dynamic && symbol.dynamic->defined;
}

struct FileInspection {
  Machine machine{};
  bool executable = false;  // a program, otherwise a library
  std::string build_id;     // lower-case hex; empty if there is none
  bool has_dynamic_symbols = false;
  bool has_symtab = false;  // false: stripped
  bool abi_name = false;    // the file's name is one that ABI v1 asks of a library
  std::optional<TlsSegment> tls;
  InspectedSymbol version;
  InspectedSymbol variable;
  // From the file's data; nullopt if there is no symbol, or it is not 4 bytes, or lies outside.
  std::optional<std::uint32_t> version_value;
  // The relocations by which code of this file may reach the variable: at most kMaxRelocations of
  // them, and their number. Relocations without a symbol count if they mean the variable or the
  // start of its TLS block.
  static constexpr std::size_t kMaxRelocations = 64;
  std::vector<TlsRelocation> relocations;
  std::size_t relocation_count = 0;
  std::vector<FileAccess> access;  // each once
  bool imports_variable = false;   // uses another file's variable
  Verdict verdict = Verdict::kNothing;
  std::vector<Finding> findings;  // why it is not compliant, most important first
};

// Takes over the descriptor. `name` is only judged by the ABI's rule for names. kMalformed: no ELF
// file, or one that contradicts itself. kUnsupported: not 64-bit little-endian x86-64 or aarch64,
// or neither a program nor a shared object. kLimit: a table of impossible size.
Result<FileInspection> inspect_file(UniqueFd file, std::string_view name);

}  // namespace labelscope
