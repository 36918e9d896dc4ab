// Whether a file is the server of a preset, and which variant of the preset is for it. Only symbols
// say that: /proc/PID/exe of a redis-server is redis-check-rdb, and a server may have any name.
//
// The first variant whose tests hold is taken, and never the nearest one: the numbers of another
// version lead to wrong labels.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "elf/elf_image.h"
#include "sources/preset/preset_file.h"

namespace labelscope {

// Symbols of one file by name: the dynamic ones, and in a program those of .symtab.
class PresetSymbols {
 public:
  explicit PresetSymbols(const ElfImage& image) : image_(image) {}
  // Nothing if there is none, or if the tables cannot be read.
  std::optional<ElfSymbol> find(const std::string& name) const;

 private:
  const ElfImage& image_;
};

// Returns why a file is not the server, "it has no symbol server"; nothing if its symbols are those
// of `match`. A preset for any program is not for a library.
std::optional<std::string> why_no_match(const PresetDescription& preset, const ElfImage& image);

struct ChosenVariant {
  std::string name;  // empty for a preset without variants
  std::map<std::string, std::int64_t> parameters;
};
// Fails with kUnsupported if no variant fits: the context says what was found and what is known.
Result<ChosenVariant> choose_variant(const PresetDescription& preset, const ElfImage& image);

}  // namespace labelscope
