// DWARF is foreign input: every walk goes forward only (so that it ends), has a depth limit (so
// that the stack holds) and the indexes have a limit in entries (so that memory holds).
#include "cli/symbol/dwarf_scopes.h"

#include <dwarf.h>

#include <algorithm>
#include <climits>

#include "cli/symbol/dwarf_names.h"

namespace labelscope::cli {
namespace {

// Namespaces, classes and blocks around a function.
constexpr int kMaxDepth = 128;
// Calls inlined into each other; optimized Rust reaches 40.
constexpr std::size_t kMaxInlineDepth = 128;
// All ranges of all units and functions of one file: about 400 MB at most.
constexpr std::size_t kMaxRanges = std::size_t{1} << 24;
constexpr int kMaxNesting = 64;
constexpr unsigned kUnitsBetweenAsking = 256;

int line_number(Dwarf_Word line) { return line > INT_MAX ? 0 : static_cast<int>(line); }

Dwarf_Word number(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return 0;
  return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

// The inlined calls and blocks from `function` down to `address`, outermost first.
std::vector<Dwarf_Die> inlined_calls(Dwarf_Die function, Address address) {
  std::vector<Dwarf_Die> calls;
  Dwarf_Die parent = function;
  for (std::size_t depth = 0; depth < kMaxInlineDepth; ++depth) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return calls;
    bool found = false;
    do {
      int tag = dwarf_tag(&child);
      bool scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                   tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
      if (!scope || dwarf_haspc(&child, address) != 1) continue;
      found = true;
      if (tag == DW_TAG_inlined_subroutine) calls.push_back(child);
    } while (!found && next_sibling(child));
    if (!found) return calls;
    parent = child;
  }
  return calls;
}

bool may_hold_functions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
      return true;
    default:
      return false;
  }
}

}  // namespace

DwarfScopes::DwarfScopes(Dwarf* dwarf, const std::function<bool()>& cancelled)
    : dwarf_(dwarf), cancelled_(cancelled), ranges_left_(kMaxRanges) {
  Dwarf_Off offset = 0;
  Dwarf_Off next = 0;
  std::size_t header_size = 0;
  unsigned seen = 0;
  while (dwarf_nextcu(dwarf, offset, &next, &header_size, nullptr, nullptr, nullptr) == 0) {
    if (++seen % kUnitsBetweenAsking == 0 && cancelled_ && cancelled_()) break;
    Dwarf_Die die;
    if (dwarf_offdie(dwarf, offset + header_size, &die) != nullptr) {
      if (dwarf_hasattr(&die, DW_AT_GNU_dwo_name) != 0 ||
          dwarf_hasattr(&die, DW_AT_dwo_name) != 0) {
        has_skeletons_ = true;
      }
      if (!add_ranges(die, units_)) break;
    }
    if (next <= offset) break;
    offset = next;
  }
  std::sort(units_.begin(), units_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
}

// False when the limit is reached.
bool DwarfScopes::add_ranges(Dwarf_Die& die, std::vector<Range>& ranges) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
    // Functions that the linker threw away keep a range at zero.
    if (start == 0 || start >= end) continue;
    if (ranges_left_ == 0) return false;
    --ranges_left_;
    ranges.push_back({start, end, dwarf_dieoffset(&die)});
  }
  return true;
}

const DwarfScopes::Range* DwarfScopes::innermost(const std::vector<Range>& ranges,
                                                 Address address) {
  auto at = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](Address a, const Range& range) { return a < range.start; });
  for (int steps = 0; at != ranges.begin() && steps < kMaxNesting; ++steps) {
    --at;
    if (address < at->end) return &*at;
  }
  return nullptr;
}

void DwarfScopes::add_functions(Dwarf_Die& parent, int depth, std::vector<Range>& functions) {
  Dwarf_Die child;
  if (depth == kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && !add_ranges(child, functions)) return;
    if (may_hold_functions(tag)) add_functions(child, depth + 1, functions);
  } while (next_sibling(child));
}

DwarfScopes::Unit& DwarfScopes::unit_at(Dwarf_Off die, Dwarf_Die& unit_die) {
  auto [found, fresh] = indexed_.try_emplace(die);
  if (fresh) {
    std::vector<Range>& functions = found->second.functions;
    add_functions(unit_die, 0, functions);
    std::sort(functions.begin(), functions.end(), [](const Range& a, const Range& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
  }
  return found->second;
}

std::vector<SourceLine> DwarfScopes::find(Address address, bool inlined) {
  const Range* range = innermost(units_, address);
  Dwarf_Die unit_die;
  if (range == nullptr || dwarf_offdie(dwarf_, range->die, &unit_die) == nullptr) return {};

  SourceLine here;
  if (Dwarf_Line* line = dwarf_getsrc_die(&unit_die, address); line != nullptr) {
    int number_of_line = 0;
    here.file = dwarf_text(dwarf_linesrc(line, nullptr, nullptr));
    if (dwarf_lineno(line, &number_of_line) == 0) here.line = std::max(number_of_line, 0);
  }
  const Range* function = innermost(unit_at(range->die, unit_die).functions, address);
  Dwarf_Die function_die;
  if (function == nullptr || dwarf_offdie(dwarf_, function->die, &function_die) == nullptr) {
    if (here.file.empty()) return {};
    return {std::move(here)};
  }

  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  if (dwarf_getsrcfiles(&unit_die, &files, &file_count) != 0) file_count = 0;
  std::vector<Dwarf_Die> calls = inlined_calls(function_die, address);
  std::vector<SourceLine> lines;
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    names_.fill(*call, here);
    if (inlined) lines.push_back(std::move(here));
    here = SourceLine();
    Dwarf_Word file = number(*call, DW_AT_call_file);
    if (file < file_count) here.file = dwarf_text(dwarf_filesrc(files, file, nullptr, nullptr));
    here.line = line_number(number(*call, DW_AT_call_line));
  }
  names_.fill(function_die, here);
  lines.push_back(std::move(here));
  return lines;
}

}  // namespace labelscope::cli
