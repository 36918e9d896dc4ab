// This finds out what the bytes of code without call frame information show to an unwinder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elf/elf_image.h"
#include "elf/loaded_file.h"
#include "unwind_table/unwind_rules.h"

namespace labelscope {

// A part of a gap, up to the next part.
struct CodePart {
  std::uint64_t start = 0;
  ls_unwind_rule rule{};
};

// These limits leave room in a table for the rest of its file.
struct CodeLimits {
  std::size_t parts = 0;
  std::size_t parts_of_page = 0;
  std::size_t rules = 0;
};

bool fits(const std::vector<CodePart>& parts, const CodeLimits& limits);

// Where functions are known to start, wherever they are, in order.
struct KnownFunctions {
  std::vector<std::uint64_t> starts;
  bool all = false;  // true if the file has not been stripped
};

KnownFunctions known_functions(const ElfImage& file);

struct UndescribedCode {
  std::uint64_t start = 0;
  std::uint64_t end = 0;    // in the same segment
  std::uint64_t entry = 0;  // the file's entry point, inside of the gap or not
  // null if only marks are wanted, and no code is followed
  const KnownFunctions* functions = nullptr;
  CodeLimits limits{};  // for what is followed; beyond them nothing is
};

// No padding between two functions is longer.
inline constexpr std::uint64_t kMostPadding = 64;
// Returns whether the code is only padding up to the next function.
bool is_only_padding(std::string_view code, Machine machine);

// The first part starts at `start`, or one byte before where that is a return from a signal
// handler.
std::vector<CodePart> look_at_undescribed_code(const LoadedFile& file, Machine machine,
                                               const UndescribedCode& where);

}  // namespace labelscope
