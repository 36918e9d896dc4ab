// From mappings to modules: which ELF files a process runs, and with which load bias.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/elf_image.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope {

// One loaded copy of an ELF file. A file that is loaded twice (dlmopen) is two modules.
struct Module {
  std::string path;
  FileId file;
  std::shared_ptr<ElfImage> image;  // shared by the copies of one file
  Address load_bias = 0;            // runtime address minus link-time address
  Address start = 0;
  Address end = 0;  // past the last mapping of this copy

  bool contains(Address address) const { return address >= start && address < end; }
};

// A file that is mapped executable, but that we could not use.
struct ModuleProblem {
  std::string path;
  Error error;
};

struct ModuleList {
  std::vector<Module> modules;  // by address
  std::vector<ModuleProblem> problems;
  bool loading = false;  // the loader has not mapped all of some module yet
};

// Opens every executable mapped file for which `wanted` says so (once for each file).
ModuleList list_modules(const Target& target, const std::vector<Mapping>& mappings,
                        const std::function<bool(const FileId&)>& wanted);

// `program_headers`: Target::program_headers_address(), which the kernel told the process.
bool is_main_executable(const Module& module, std::optional<Address> program_headers);

}  // namespace labelscope
