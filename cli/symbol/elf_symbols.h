// Names for the addresses of one ELF file: symbol table and DWARF together, wherever they are (the
// file itself, a separate debug file, .gnu_debugdata). Addresses are link-time addresses of the
// file.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/symbol/debug_files.h"
#include "cli/symbol/dwarf_scopes.h"
#include "cli/symbol/symbol_table.h"
#include "labelscope/result.h"

namespace labelscope::cli {

class ElfSymbols {
 public:
  // `fd` must stay open and `debug_files` alive as long as this object; `path` is only the place
  // beside which debug files are looked for. kMalformed, kLimit, kUnsupported: why the file is of
  // no use.
  static Result<std::unique_ptr<ElfSymbols>> open(int fd, const std::string& path,
                                                  DebugFiles& debug_files);
  // For the vDSO. `image` is copied.
  static Result<std::unique_ptr<ElfSymbols>> open_image(std::span<const std::byte> image,
                                                        const std::string& name,
                                                        DebugFiles& debug_files);

  const std::string& build_id() const { return build_id_; }
  // The link-time address of the first byte of the file that is loaded.
  Address first_address() const { return first_address_; }
  // Innermost first; empty if nothing is known.
  std::vector<SourceLine> find(Address link_address, bool inlined);
  // There is debug information with source lines.
  bool has_lines() const { return scopes_.has_value(); }
  // Why some addresses have no name, and what would help.
  std::string why_nameless() const;

  ElfSymbols(const ElfSymbols&) = delete;
  ElfSymbols& operator=(const ElfSymbols&) = delete;

 private:
  ElfSymbols(Elf* elf, std::string name, DebugFiles& debug_files);
  static int find_elf(Dwfl_Module* module, void** userdata, const char* module_name,
                      Dwarf_Addr base, char** file_name, Elf** elf);
  static int find_debuginfo(Dwfl_Module* module, void** userdata, const char* module_name,
                            Dwarf_Addr base, const char* file_name, const char* debug_link,
                            GElf_Word crc, char** debug_file);
  static Result<std::unique_ptr<ElfSymbols>> load(std::unique_ptr<ElfSymbols> symbols);
  Status report();

  struct EndDwfl {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };

  std::vector<char> image_;  // what elf_ reads, if it is not a file
  Elf* elf_;                 // ours until find_elf() gives it to dwfl_
  bool elf_given_ = false;
  std::string name_;
  DebugFiles& debug_files_;
  std::string build_id_;
  Address first_address_ = 0;
  Address bias_ = 0;  // libdwfl's address minus link-time address
  Address dwarf_bias_ = 0;
  bool has_symtab_ = false;
  bool has_debug_file_ = false;
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, EndDwfl> dwfl_;
  Dwfl_Module* module_ = nullptr;  // owned by dwfl_
  std::optional<SymbolTable> table_;
  std::optional<DwarfScopes> scopes_;

 public:
  ~ElfSymbols();
};

}  // namespace labelscope::cli
