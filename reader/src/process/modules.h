// This goes from mappings to modules: which ELF files a process runs, and with which load bias.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// One loaded copy of an ELF file. A file that is loaded twice (dlmopen) is two modules.
struct Module {
  std::string path;
  FileId file;
  std::shared_ptr<ElfImage> image;  // shared by the copies of one file; null if it was not kept
  Address load_bias = 0;            // runtime address minus link-time address
  Address start = 0;
  Address end = 0;  // end of the last mapping of this copy
  // Times of the file from before it was read; nothing if they are not known.
  std::optional<FileTimes> times{};

  bool contains(Address address) const { return address >= start && address < end; }
};

// A file that is mapped executable, but that could not be used.
struct ModuleProblem {
  std::string path;
  Error error;
};

struct ModuleList {
  std::vector<Module> modules;  // by address
  std::vector<ModuleProblem> problems;
  bool loading = false;  // true if the loader has not mapped all of some module yet
};

// Opens every executable mapped file for which `wanted` returns true (once for each file, for its
// first mapping), one after the other. Its image stays open if `keep` returns true for one of its
// modules: a process may map more files than labelscope may open.
ModuleList list_modules(
    const Target& target, const std::vector<Mapping>& mappings,
    const std::function<bool(const Mapping&)>& wanted,
    const std::function<bool(const Module&)>& keep = [](const Module&) { return true; });

// `program_headers` are those of the program (main_program.h).
bool is_main_executable(const Module& module, std::optional<Address> program_headers);

}  // namespace labelscope
