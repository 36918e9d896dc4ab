// The names by which the loader knows a file, and those of the files that it loads with it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace labelscope {

// The names in a file's dynamic section.
struct LoaderNames {
  std::string own;                  // DT_SONAME; empty if it has none
  std::vector<std::string> needed;  // DT_NEEDED
  std::vector<std::string> wished;  // DT_FILTER, DT_AUXILIARY: the loader does not require these
};

// What the names of all files together may take: a process chooses its files, and how many entries
// its loader's list has. LibreOffice has 5,000 of 70 KB in 300 files.
struct LoaderNameBudget {
  std::size_t names = std::size_t{64} << 10;
  std::size_t bytes = std::size_t{4} << 20;
};

// Returns nothing if the file contradicts itself, or if the names are too many.
std::optional<LoaderNames> read_loader_names(const ElfImage& image, LoaderNameBudget& left);

}  // namespace labelscope
