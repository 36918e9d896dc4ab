// `labelscope inspect --unwind`: whether a stack can be followed through all code of a file, and
// where it cannot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/symbol/file_namer.h"
#include "cli/unwind/table_worker.h"
#include "labelscope/ids.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// A range of code that call frame information does not describe, or not in a supported way.
struct CodeGap {
  // LS_CFA_GAP, LS_CFA_GAP_FP or LS_CFA_UNSUPPORTED; LS_CFA_SP: its instructions lead on.
  ls_cfa_kind kind{};
  Address start = 0;  // link-time address
  Address end = 0;
  std::string function;  // its name in the symbol table; empty: no symbol covers it
};

struct UnwindReport {
  static constexpr std::size_t kMostGaps = 10'000;

  std::string path;
  std::string problem;  // why there is no table; then nothing else is set
  Machine machine{};
  CodeCounts counts;
  std::size_t rows = 0;
  std::size_t rules = 0;
  std::size_t bytes = 0;      // size in the kernel's memory
  std::vector<CodeGap> gaps;  // the first ones, in the order of addresses
  std::size_t gap_count = 0;
  // The bytes of gaps without frame pointers and of unsupported code, without what the linker adds.
  std::uint64_t broken_bytes = 0;

  // The bytes of gaps whose instructions lead on.
  std::uint64_t followed_bytes = 0;

  // True if every stack leads on, by a rule, by instructions or by frame pointers.
  bool is_whole() const { return problem.empty() && broken_bytes == 0; }
};

UnwindReport report_unwinding(std::string path, UniqueFd file, TableWorker& tables,
                              FileNamer& names);

// Returns the text for people: everything if it is one file, a line each if there are several.
std::string render_unwinding(const UnwindReport& report);
std::string render_unwinding_table(std::span<const UnwindReport> reports);
// docs/schema/inspect-json.md describes it.
std::string render_unwinding_json(std::span<const UnwindReport> reports);

}  // namespace labelscope::cli
