// Names for the addresses of one ELF file: from its symbol table and DWARF, wherever these are (in
// the file itself, a separate debug file, .gnu_debugdata). A Go program without symbols has the
// names that its runtime uses. Addresses are link-time addresses of the file. A function without a
// name is called by its start, which call frame information has, so its samples stay together and
// apart from those of other functions.
//
// The file is foreign and libdw is large: this runs in the worker (names_task.cc), which can open
// no files. It asks for each file that libdw would open (FindDebugFile), and checks it before libdw
// sees it.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/names/budget.h"
#include "cli/names/dwarf_scopes.h"
#include "cli/names/names_messages.h"
#include "cli/names/plt_names.h"
#include "cli/names/symbol_table.h"
#include "cli/profile/profile.h"
#include "elf/go_functions.h"
#include "labelscope/result.h"
#include "unwind_table/call_frames.h"

namespace labelscope::cli {

// What is found of a debug file: the file and its path; or, where there is more to say than that
// there is none, why not.
struct FoundDebugFile {
  UniqueFd file;
  std::string text;
};
using FindDebugFile = std::function<FoundDebugFile(const WantedDebugFile&)>;

class ElfSymbols {
 public:
  struct Options {
    NamesFrom from = NamesFrom::kDebugInformation;
    Budget::Limits limits;
  };
  // Fails with kMalformed, kLimit or kUnsupported if the file is of no use. Debug files are looked
  // for here, and never later.
  static Result<std::unique_ptr<ElfSymbols>> open(UniqueFd file, const Options& options,
                                                  const FindDebugFile& find_debug_file);
  ~ElfSymbols();

  const std::string& build_id() const { return build_id_; }
  // The link-time address of the first byte of the file that is loaded.
  Address first_address() const { return first_address_; }
  // Returns functions, innermost first; empty if nothing is known. A function without a name is
  // "+0x1234".
  std::vector<SourceLine> find(Address link_address, bool inlined);
  // Whether there is debug information with source lines, and it may be read.
  bool has_lines() const { return scopes_.has_value(); }
  // There are neither all symbols nor debug information: a debug file would help what has no name.
  bool is_stripped() const;
  // Why some addresses have no name.
  std::string why_nameless() const;
  // What was left out of the information that is there, and why; empty if nothing was.
  std::string left_out() const;
  Budget& budget() { return budget_; }

  ElfSymbols(const ElfSymbols&) = delete;
  ElfSymbols& operator=(const ElfSymbols&) = delete;

 private:
  explicit ElfSymbols(const Options& options) : from_(options.from), budget_(options.limits) {}
  static int find_elf(Dwfl_Module* module, void** userdata, const char* module_name,
                      Dwarf_Addr base, char** file_name, Elf** elf);
  static int find_debuginfo(Dwfl_Module* module, void** userdata, const char* module_name,
                            Dwarf_Addr base, const char* file_name, const char* debug_link,
                            GElf_Word crc, char** debug_file);
  Status load();
  Status report_module(Address start, Address end);
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  struct Opened {
    UniqueFd file;
    std::unique_ptr<Elf, EndElf> elf;  // uses the file
  };
  // `what`: the remark, if there is none.
  std::optional<Opened> find_right_file(WantedDebugFile wanted, const std::string& what,
                                        const std::function<bool(Elf*, const UniqueFd&)>& is_right);
  int find_debug_file(const char* debug_link, GElf_Word crc);
  void find_alternate(Dwarf* dwarf);
  void read_go_functions();
  void remark(const std::string& what);
  void remark_packing(Elf* elf);
  const CallFrames* frames();
  bool returns_from_signal(Address link_address);
  std::optional<Address> start_of_function(Address link_address);

  struct EndDwfl {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };

  NamesFrom from_;
  UniqueFd file_;
  Budget budget_;
  const FindDebugFile* finder_ = nullptr;  // null when it is open
  std::string build_id_;
  std::string debug_link_;
  Address first_address_ = 0;
  Address bias_ = 0;  // libdwfl's address minus link-time address
  Address dwarf_bias_ = 0;
  bool has_symtab_ = false;
  bool has_debug_file_ = false;
  bool asked_for_debug_file_ = false;
  std::string remarks_;
  // Each member uses those above it.
  std::unique_ptr<Elf, EndElf> elf_;  // libdwfl gets a reference of its own
  UniqueFd alternate_file_;
  std::unique_ptr<Elf, EndElf> alternate_elf_;
  std::unique_ptr<Dwarf, EndDwarf> alternate_;
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, EndDwfl> dwfl_;
  Dwfl_Module* module_ = nullptr;  // owned by dwfl_
  std::optional<SymbolTable> table_;
  std::optional<DwarfScopes> scopes_;
  std::optional<PltNames> plt_;  // read when the first address is in the PLT
  std::optional<GoFunctions> go_;
  bool asked_for_frames_ = false;
  std::optional<CallFrames> frames_;  // read when an address has no name
};

}  // namespace labelscope::cli
