// The code of a process: files, functions, source lines, and each file's role. It is kept until the
// process executes another program; what is loaded meanwhile is added.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/symbol/file_namer.h"
#include "elf/elf_image.h"
#include "findings/diagnostic.h"
#include "labelscope/mapping.h"
#include "labelscope/target.h"

namespace labelscope::cli {

enum class CodeRole {
  kProgram,    // the executable, and libraries that are none of the following
  kPublisher,  // a library that publishes labels
  kRuntime,    // libc, the loader, libraries of compilers, a library that provides malloc
};

struct CodeFile {
  std::string path;
  CodeRole role = CodeRole::kProgram;
  bool main_executable = false;
  std::optional<ElfImage> image;
  std::vector<FunctionSymbol> functions;  // by start, link-time addresses
  ModuleFile file;
  std::unique_ptr<NamedFile> symbols;  // opened on demand, for lines
};

// One executable mapping.
struct MappedCode {
  Address start = 0;
  Address end = 0;
  Address bias = 0;  // runtime minus link-time address
  CodeFile* file = nullptr;
};

// Returns the function's name in the source. Compilers add a suffix to the parts and variants that
// they make of a function ("f.constprop.0", "f.cold").
std::string source_name(const std::string& function);

// Returns the index of the innermost inlined function whose source is the author's own;
// lines.size() if there is none.
std::size_t authors_level(const std::vector<SourceLine>& lines);

class CodeMap {
 public:
  explicit CodeMap(FileNamer& namer) : namer_(namer) {}
  CodeMap(const CodeMap&) = delete;
  CodeMap& operator=(const CodeMap&) = delete;

  struct Changes {
    std::vector<const MappedCode*> added;
    std::vector<MappedCode> gone;
  };
  // Reads the mappings. Returns the new ranges and the ranges that are gone, in no order.
  Result<Changes> refresh(const Target& target);
  // Gives the library with this path (as in the plan) the role of a publisher.
  void mark_publisher(std::string_view path);

  std::vector<const MappedCode*> all() const;
  // Null: no code of a file is there.
  const MappedCode* find(Address address) const;
  CodeRole role_at(Address address) const;
  // The function whose symbol covers the address, and where it starts at run time.
  struct Function {
    Address start = 0;
    Address end = 0;
    const FunctionSymbol* symbol = nullptr;
  };
  std::optional<Function> function_at(Address address) const;
  // The innermost inlined function comes first; empty if nothing is known. The result is cached.
  const std::vector<SourceLine>& lines_at(Address address);
  // Returns the line in the author's own source, if there is one.
  CodePlace place_at(Address address);
  // Returns whether the code at this address is the author's own. It is not if it is the runtime's,
  // if it comes from headers of other authors, or if it has no lines in a file that has some (a
  // statically linked libc).
  bool is_authors(Address address);
  FileNamer& namer() const { return namer_; }

 private:
  CodeFile* open(const Mapping& mapping, const Target& target);

  FileNamer& namer_;
  std::map<FileId, std::unique_ptr<CodeFile>> files_;
  std::map<Address, MappedCode> ranges_;  // by start
  std::unordered_map<Address, std::vector<SourceLine>> lines_;
};

}  // namespace labelscope::cli
