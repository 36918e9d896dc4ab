// This finds out what code of x86-64 without call frame information has done with its frame, at
// each instruction, as rules.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "unwind_table/undescribed_code.h"

namespace labelscope {

struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

struct X86Code {
  std::string_view bytes;
  std::uint64_t address = 0;
  // Where functions are known to start, wherever they are, in order.
  std::span<const std::uint64_t> functions;
  // True if those are all functions, because the file has not been stripped.
  bool all_known = false;
  // Code that is known without following it, in order and without overlaps: no function begins,
  // goes on or ends there.
  std::span<const CodeRange> others{};
  // True if the first byte may be in the middle of a function.
  bool is_cut = false;
};

// Returns parts from the first byte on, in order. Gaps (LS_CFA_GAP) are where nothing is known.
std::vector<CodePart> x86_frames(const X86Code& code);

}  // namespace labelscope
