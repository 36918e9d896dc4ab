// Code that no call frame information describes: what its bytes tell an unwinder all the same.
#pragma once

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

struct UndescribedCode {
  std::uint64_t start = 0;
  std::uint64_t end = 0;                     // in the same segment
  std::uint64_t entry = 0;                   // the file's entry point, wherever it is
  std::span<const std::uint64_t> functions;  // where some are known to start, wherever they are
};

// The first part starts at `start`, or one byte before where that is a return from a signal
// handler. Empty: nothing but padding between functions.
std::vector<CodePart> look_at_undescribed_code(const LoadedFile& file, Machine machine,
                                               const UndescribedCode& where);

}  // namespace labelscope
