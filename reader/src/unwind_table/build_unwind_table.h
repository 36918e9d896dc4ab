// This makes the unwind table of an ELF file: its call frame information as the rows and rules of
// unwind_rules.h. It takes a file and returns plain data, and touches nothing else, so that it can
// run in a process that may do nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "elf/elf_image.h"
#include "labelscope/result.h"
#include "labelscope/unique_fd.h"
#include "unwind_table/unwind_rules.h"

namespace labelscope {

// The file may be hostile. If a bound is reached, the error names it.
struct UnwindTableLimits {
  std::size_t rows = 8 << 20;  // rows of 4 bytes; the largest real file has 1,037,502
  // All tables together have room for 262,144; the largest real file needs 707.
  std::size_t rules = 8192;
  std::uint64_t text_bytes = 4ULL << 30;   // from the first to the last code
  std::chrono::milliseconds time{20'000};  // the largest real file takes half a second
  bool only_libdw = false;                 // for tests: libdw interprets ordinary functions, too
};

// Numbers about the code of a file.
struct CodeCounts {
  std::uint64_t functions = 0;  // functions that call frame information describes
  // functions whose description cannot be read; their code is unsupported
  std::uint64_t damaged_functions = 0;
  // functions to which the search table of .eh_frame_hdr does not lead
  std::uint64_t hidden_functions = 0;
  std::uint64_t code_bytes = 0;
  std::uint64_t gap_bytes = 0;            // bytes that nothing describes
  std::uint64_t frame_pointer_bytes = 0;  // gap bytes with code that keeps frame pointers
  std::uint64_t unsupported_bytes = 0;
  std::uint64_t go_functions = 0;  // functions that only the table of Go programs describes
  // True if there is such a table, but it is too large, damaged or of a version that is not read.
  // Then frame pointers are followed instead.
  bool go_refused = false;
};

struct UnwindTable {
  Machine machine{};
  std::uint64_t text = 0;  // link-time address of the first page, a multiple of its size
  std::vector<ls_unwind_rows> pages;
  std::vector<std::uint32_t> rows;
  std::vector<ls_unwind_rule> rules;
  std::vector<LoadSegment> segments;  // they show where a mapping of the file has its code
  CodeCounts counts;

  // Returns the rule for a link-time address; null if there is no code of the file.
  const ls_unwind_rule* rule_at(std::uint64_t address) const;
};

// Fails with kNotFound if the file has no code, with kLimit if it is larger than `limits`, and with
// kMalformed or kUnsupported if it is no ELF file of a supported machine. A file without call frame
// information is one gap.
Result<UnwindTable> build_unwind_table(UniqueFd file, const UnwindTableLimits& limits = {});
// Makes the table of a file, where a caller may choose how. It is empty for build_unwind_table().
using BuildUnwindTable = std::function<Result<UnwindTable>(UniqueFd file)>;

}  // namespace labelscope
