// Compares two unwind tables of one file, bit by bit.
#pragma once

#include <cstring>
#include <vector>

#include "unwind_table/build_unwind_table.h"

namespace labelscope {

template <class T>
bool same_bytes(const std::vector<T>& left, const std::vector<T>& right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(T)) == 0);
}

inline bool same_table(const UnwindTable& left, const UnwindTable& right) {
  const CodeCounts& some = left.counts;
  const CodeCounts& other = right.counts;
  return left.machine == right.machine && left.text == right.text &&
         same_bytes(left.pages, right.pages) && same_bytes(left.rows, right.rows) &&
         same_bytes(left.rules, right.rules) && some.functions == other.functions &&
         some.damaged_functions == other.damaged_functions &&
         some.hidden_functions == other.hidden_functions && some.code_bytes == other.code_bytes &&
         some.gap_bytes == other.gap_bytes &&
         some.frame_pointer_bytes == other.frame_pointer_bytes &&
         some.unsupported_bytes == other.unsupported_bytes &&
         some.go_functions == other.go_functions && some.go_refused == other.go_refused;
}

}  // namespace labelscope
