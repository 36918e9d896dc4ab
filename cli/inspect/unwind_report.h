// What `labelscope inspect --unwind` tells of a file: whether a stack leads through all of its code,
// and where it does not.
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

// Code through which no rule leads.
struct CodeGap {
  ls_cfa_kind kind{};  // LS_CFA_GAP, LS_CFA_GAP_FP or LS_CFA_UNSUPPORTED
  Address start = 0;   // link-time
  Address end = 0;
  std::string function;  // as the symbol table has it; empty: no symbol covers it
};

struct UnwindReport {
  static constexpr std::size_t kMostGaps = 10'000;

  std::string path;
  std::string problem;  // why there is no table; then nothing else is told
  Machine machine{};
  UnwindTableFacts facts;
  std::size_t rows = 0;
  std::size_t rules = 0;
  std::size_t bytes = 0;      // of memory in the kernel
  std::vector<CodeGap> gaps;  // in the order of addresses; the first ones
  std::size_t gap_count = 0;
  // Of gaps without frame pointers, and of unsupported code; but for what the linker adds.
  std::uint64_t broken_bytes = 0;

  // Every stack leads on, whether by a rule or by frame pointers.
  bool is_whole() const { return problem.empty() && broken_bytes == 0; }
};

UnwindReport report_unwinding(std::string path, UniqueFd file, TableWorker& tables,
                              FileNamer& names);

// For people: everything about one file; a line for each of several.
std::string render_unwinding(const UnwindReport& report);
std::string render_unwinding_table(std::span<const UnwindReport> reports);
// docs/schema/inspect-json.md
std::string render_unwinding_json(std::span<const UnwindReport> reports);

}  // namespace labelscope::cli
